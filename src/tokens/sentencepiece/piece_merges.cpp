// SPDX-License-Identifier: Apache-2.0
#include "tokens/sentencepiece/piece_merges.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/encoding.h"
#include "base/printable.h"

namespace headroom::tokens {
namespace {

// What a text may be made of: these are merged with their neighbours, and nothing else is.
bool can_merge(Piece::Kind kind) {
  return kind == Piece::Kind::normal || kind == Piece::Kind::unused;
}

// The merges of a model, and the vocabulary that they are of: its pieces, and behind them the
// characters that are none and yet begin a piece or end one (Gemma has "\t\t" and no "\t").
class Collector {
 public:
  explicit Collector(const PieceModel& model) : model_(model) {
    for (std::size_t id = 0; id < model.pieces.size(); ++id)
      vocabulary_.add(model.pieces[id].text, static_cast<Id>(id));
    std::map<float, std::uint32_t, std::greater<>> ranks;  // Equal scores are of one rank.
    for (const Piece& piece : model.pieces) ranks.emplace(piece.score, 0);
    std::uint32_t next = 0;
    for (auto& [score, rank] : ranks) rank = next++;
    for (const Piece& piece : model.pieces) rank_.push_back(ranks.at(piece.score));
  }

  Status collect() {
    for (std::size_t id = 0; id < model_.pieces.size(); ++id)
      if (can_merge(model_.pieces[id].kind) && is_utf8(model_.pieces[id].text))
        HEADROOM_CHECK(add_splits(static_cast<Id>(id)));
    return Done{};
  }

  Vocabulary& vocabulary() { return vocabulary_; }
  std::vector<Bpe::PairMerge>& merges() { return merges_; }
  std::unordered_map<Id, std::pair<Id, Id>>& unmade() { return unmade_; }

 private:
  // A symbol that a part of a text can be before it is merged; −1: none.
  Id find_part(std::string_view text) {
    if (const auto id = vocabulary_.find(text)) {
      const auto place = static_cast<std::size_t>(*id);
      const bool is_character = first_code_point(text).length == text.size();
      const bool merges = place >= model_.pieces.size() || can_merge(model_.pieces[place].kind) ||
                          (is_character && model_.pieces[place].kind == Piece::Kind::control);
      return merges ? *id : -1;
    }
    if (first_code_point(text).length != text.size()) return -1;
    const auto id = static_cast<Id>(vocabulary_.end());
    if (static_cast<std::uint64_t>(id) >= Vocabulary::most_ids) return -1;
    vocabulary_.add(std::string(text), id);
    return id;
  }

  Status add_splits(Id id) {
    const Piece& piece = model_.pieces[static_cast<std::size_t>(id)];
    const std::string_view text = piece.text;
    const std::uint32_t rank = rank_[static_cast<std::size_t>(id)];
    for (std::size_t at = first_code_point(text).length; at < text.size();
         at += first_code_point(text.substr(at)).length) {
      // Both are looked for, so that a character without a piece becomes one only if it is needed.
      if (!may_be_part(text.substr(0, at)) || !may_be_part(text.substr(at))) continue;
      const Id left = find_part(text.substr(0, at));
      const Id right = find_part(text.substr(at));
      if (left < 0 || right < 0) continue;
      merges_.push_back({left, right, {rank, id}});
      if (piece.kind != Piece::Kind::unused) continue;
      if (!unmade_.emplace(id, std::pair(left, right)).second)
        return Error{Errc::unsupported,
                     fmt::format("expected unused pieces that are made of two others in one way, "
                                 "found \"{}\"",
                                 printable(text)),
                     "tokenise the data with the model's own tokenizer and write kind = "
                     "\"tokens\""};
    }
    return Done{};
  }

  bool may_be_part(std::string_view text) const {
    return vocabulary_.find(text) || first_code_point(text).length == text.size();
  }

  const PieceModel& model_;
  Vocabulary vocabulary_;
  std::vector<std::uint32_t> rank_;  // By id.
  std::vector<Bpe::PairMerge> merges_;
  std::unordered_map<Id, std::pair<Id, Id>> unmade_;
};

}  // namespace

Result<PieceMerges> PieceMerges::make(const PieceModel& model) {
  Collector collector(model);
  HEADROOM_CHECK(collector.collect());
  Bpe::Options options;
  options.unknown = model.pieces[static_cast<std::size_t>(model.unknown)].text;
  options.fuses_unknown = true;
  options.byte_fallback = model.byte_fallback;
  PieceMerges merges(
      Bpe::make(std::move(options), std::move(collector.vocabulary()), collector.merges()));
  merges.unmade_ = std::move(collector.unmade());
  merges.unknown_ = model.unknown;
  merges.end_ = static_cast<Id>(model.pieces.size());
  if (model.byte_fallback) merges.bytes_.resize(256, -1);
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const Piece& piece = model.pieces[id];
    if (piece.kind == Piece::Kind::byte)
      merges.bytes_[byte_of_piece(piece.text).value_or(0)] = static_cast<Id>(id);
    if (piece.kind == Piece::Kind::user_defined)
      merges.frozen_.add(
          {.id = static_cast<Id>(id), .content = piece.text, .found_as = piece.text});
  }
  return merges;
}

// `first`: where the tokens of the text begin in `ids`.
void PieceMerges::append(Id id, std::vector<Id>& ids, std::size_t first) const {
  if (const auto made = unmade_.find(id); made != unmade_.end()) {
    append(made->second.first, ids, first);
    append(made->second.second, ids, first);
    return;
  }
  if (id >= end_ && !bytes_.empty()) {
    for (const char byte : *bpe_.vocabulary().token(id))
      ids.push_back(bytes_[static_cast<unsigned char>(byte)]);
    return;
  }
  if (id >= end_) id = unknown_;
  if (id == unknown_ && ids.size() > first && ids.back() == unknown_) return;
  ids.push_back(id);
}

void PieceMerges::encode(std::string_view text, std::vector<Id>& ids) {
  std::vector<Id> merged;
  for (const TextPart& part : frozen_.find(text)) {
    if (part.id >= 0) {
      ids.push_back(part.id);
      continue;
    }
    merged.clear();
    bpe_.encode(text.substr(part.span.begin, part.span.end - part.span.begin), merged);
    const std::size_t first = ids.size();
    for (const Id id : merged) append(id, ids, first);
  }
}

}  // namespace headroom::tokens
