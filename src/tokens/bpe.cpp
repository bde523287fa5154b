// SPDX-License-Identifier: Apache-2.0
#include "tokens/bpe.h"

#include "tokens/characters.h"

namespace headroom::tokens {
namespace {

// Longer words are cut where no merge crosses; of shorter ones that saves nothing.
constexpr std::size_t shortest_cut = 64;

std::uint64_t pair_of(char32_t left, char32_t right) {
  return (std::uint64_t{left} << 32U) | right;
}

}  // namespace

Bpe Bpe::make(Options options, Vocabulary vocabulary, const std::vector<PairMerge>& merges) {
  Bpe bpe;
  bpe.options_ = std::move(options);
  bpe.vocabulary_ = std::move(vocabulary);
  if (!bpe.options_.unknown.empty()) bpe.unknown_ = bpe.vocabulary_.find(bpe.options_.unknown);
  bpe.find_symbols();
  bpe.merges_.reserve(merges.size());
  for (const auto& [left, right, merge] : merges) {
    bpe.merges_.add(left, right, merge);
    bpe.note_border(*bpe.vocabulary_.token(left), *bpe.vocabulary_.token(right));
  }
  return bpe;
}

void Bpe::encode(std::string_view word, std::vector<Id>& ids) {
  if (word.empty()) return;
  if (options_.ignores_merges) {
    if (const auto id = vocabulary_.find(word)) {
      ids.push_back(*id);
      return;
    }
  }
  if (word.size() < shortest_cut || !find_borders(word)) return encode_remembered(word, ids);
  std::size_t begin = 0;
  for (const std::size_t border : borders_) {
    encode_remembered(word.substr(begin, border - begin), ids);
    begin = border;
  }
  encode_remembered(word.substr(begin), ids);
}

// Whether the word may be cut; `borders_` then says where. A character without a token may wait for
// others (unknown tokens are fused), so a word with one stays whole.
bool Bpe::find_borders(std::string_view word) {
  borders_.clear();
  if (!may_cut_) return false;
  char32_t before = 0;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t here = at;
    const char32_t code = take_character(word, at);
    if (find_character(code) < 0 && !(options_.byte_fallback && has_all_bytes_)) return false;
    if (here > 0 && !crossed_.contains(pair_of(before, code))) borders_.push_back(here);
    before = code;
  }
  return true;
}

void Bpe::encode_remembered(std::string_view word, std::vector<Id>& ids) {
  if (word.size() > longest_remembered) return encode_plainly(word, ids);
  if (remembered_.empty()) remembered_.resize(remembered_words);
  Remembered& slot = remembered_[std::hash<std::string_view>()(word) % remembered_words];
  if (slot.word != word) {
    slot.word = word;
    slot.ids.clear();
    encode_plainly(word, slot.ids);
  }
  ids.insert(ids.end(), slot.ids.begin(), slot.ids.end());
}

void Bpe::encode_plainly(std::string_view word, std::vector<Id>& ids) {
  std::optional<Id> pending;  // An unknown token that the next one may be fused with.
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t here = at;
    const Id id = find_character(take_character(word, at));
    if (id < 0) {
      add_bytes_or_unknown(word.substr(here, at - here), pending);
      continue;
    }
    if (pending) merger_.add(*pending);
    pending.reset();
    merger_.add(id);
  }
  if (pending) merger_.add(*pending);
  merger_.merge(merges_, ids);
}

void Bpe::add_bytes_or_unknown(std::string_view character, std::optional<Id>& pending) {
  if (options_.byte_fallback) {
    bool has_all = true;
    for (const char byte : character)
      has_all = has_all && bytes_[static_cast<unsigned char>(byte)] >= 0;
    if (has_all) {
      for (const char byte : character) merger_.add(bytes_[static_cast<unsigned char>(byte)]);
      return;
    }
  }
  if (!unknown_) return;
  if (pending && !options_.fuses_unknown) merger_.add(*pending);
  pending = unknown_;
}

void Bpe::note_border(std::string_view left, std::string_view right) {
  // These stand for other characters than the ones they are written in.
  const auto is_special = [this](std::string_view token) {
    constexpr std::size_t length_of_byte = 6;  // <0x0A>
    return (unknown_ && token == options_.unknown) ||
           (options_.byte_fallback && token.size() == length_of_byte && token.starts_with("<0x"));
  };
  if (left.empty() || right.empty() || is_special(left) || is_special(right)) {
    may_cut_ = false;
    return;
  }
  std::size_t length = 0;
  std::size_t at = 0;
  const char32_t last = last_character(left, length);
  crossed_.insert(pair_of(last, take_character(right, at)));
}

}  // namespace headroom::tokens
