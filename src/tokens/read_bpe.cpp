// SPDX-License-Identifier: Apache-2.0
// The "model" of tokenizer.json as the tables that bpe.cpp encodes by.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/document.h"
#include "base/encoding.h"
#include "base/printable.h"
#include "tokens/bpe.h"
#include "tokens/characters.h"
#include "tokens/json_part.h"

namespace headroom::tokens {
namespace {

std::string shown(std::string_view token) {
  constexpr std::size_t enough = 60;
  return printable(token.substr(0, enough));
}

// What changes tokens and is not known may only be absent.
void refuse_set(TableReader& model, std::string_view key) {
  const Json* value = model.find(key);
  if (value == nullptr || value->is_null() || *value == "") return;
  model.fail(key, Errc::unsupported,
             fmt::format("expected nothing, which headroom-train knows, found {}",
                         shown(value->dump(-1, ' ', true))),
             "tokenise the data with the model's own tokenizer and write kind = \"tokens\"");
}

}  // namespace

bool Bpe::read_vocabulary(TableReader& model) {
  const Json& tokens = model.any_table("vocab");
  if (tokens.empty()) model.wrong("vocab", "tokens with their ids");
  for (const auto& [token, value] : tokens.items()) {
    const auto id = whole_number(value);
    if (!id || *id >= Vocabulary::most_ids) {
      model.fail("vocab", Errc::invalid,
                 fmt::format("expected an id below {} for \"{}\", found {}", Vocabulary::most_ids,
                             shown(token), shown(value.dump(-1, ' ', true))),
                 "use the tokenizer.json that came with the model");
      return false;
    }
    vocabulary_.add(token, static_cast<Id>(*id));
  }
  return true;
}

// The tokens of single characters and of single bytes, which every word begins as.
void Bpe::find_symbols() {
  bytes_.fill(-1);
  for (const std::string* token : vocabulary_.tokens()) {
    if (token == nullptr || token->empty()) continue;
    const CodePoint first = first_code_point(*token);
    if (!first.is_valid || first.length != token->size()) continue;
    if (characters_.size() <= first.value) characters_.resize(first.value + 1, -1);
    characters_[first.value] = *vocabulary_.find(*token);
  }
  for (std::size_t byte = 0; byte < bytes_.size(); ++byte)
    if (const auto id = vocabulary_.find(fmt::format("<0x{:02X}>", byte))) bytes_[byte] = *id;
  has_all_bytes_ = std::all_of(bytes_.begin(), bytes_.end(), [](Id id) { return id >= 0; });
}

bool Bpe::add_merge(TableReader& model, std::string_view left, std::string_view right) {
  const auto left_id = vocabulary_.find(left);
  const auto right_id = vocabulary_.find(right);
  const auto merged = vocabulary_.find(std::string(left) + std::string(right));
  if (!left_id || !right_id || !merged) {
    model.fail("merges", Errc::invalid,
               fmt::format("expected merges of tokens in the vocabulary into another one, found "
                           "\"{}\" and \"{}\" as number {}",
                           shown(left), shown(right), merge_count_ + 1),
               "use the tokenizer.json that came with the model");
    return false;
  }
  merges_.add(*left_id, *right_id, {merge_count_++, *merged});
  note_border(left, right);
  return true;
}

void Bpe::read_merges(TableReader& model) {
  const Json& list = model.any_array("merges");
  merges_.reserve(list.size());
  crossed_.reserve(list.size() / 4);
  for (const Json& merge : list) {
    std::string_view left, right;
    if (merge.is_string()) {
      const std::string_view both = merge.get_ref<const std::string&>();
      if (both.starts_with("#version")) continue;
      const std::size_t blank = both.find(' ');
      left = both.substr(0, blank);
      if (blank != std::string_view::npos) right = both.substr(blank + 1);
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      left = merge[0].get_ref<const std::string&>();
      right = merge[1].get_ref<const std::string&>();
    }
    if (!add_merge(model, left, right)) return;
  }
}

Bpe Bpe::read(TableReader& tokenizer) {
  Bpe bpe;
  TableReader model = tokenizer.table("model");
  // Files from before there was a type are of the only one with merges.
  std::string type = model.has("merges") ? "BPE" : "";
  model.read("type", type);
  if (type != "BPE") {
    refuse_type(model, "model", {"BPE"});
    return bpe;
  }
  for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    refuse_set(model, key);
  if (model.has("unk_token")) bpe.options_.unknown = model.text("unk_token");
  model.read("fuse_unk", bpe.options_.fuses_unknown);
  model.read("byte_fallback", bpe.options_.byte_fallback);
  model.read("ignore_merges", bpe.options_.ignores_merges);
  if (!bpe.read_vocabulary(model)) return bpe;
  if (!bpe.options_.unknown.empty()) bpe.unknown_ = bpe.vocabulary_.find(bpe.options_.unknown);
  bpe.find_symbols();
  bpe.read_merges(model);
  return bpe;
}

}  // namespace headroom::tokens
