// SPDX-License-Identifier: Apache-2.0
// A Hugging Face tokenizer.json as a function from text to token ids and back. The ids are those
// that Hugging Face's tokenizers give; what of a tokenizer.json is not known is refused by its name
// (tools/tokens.py compares the two).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "tokens/added_tokens.h"
#include "tokens/bpe.h"
#include "tokens/decoder.h"
#include "tokens/normalizer.h"
#include "tokens/post_processor.h"
#include "tokens/pre_tokenizer.h"

namespace headroom::tokens {

// What stands beside a text.
enum class Around : std::uint8_t {
  nothing,         // It is all there is.
  special_tokens,  // The tokens that the tokenizer puts around a text (post_processor.h).
  beginning,       // Those of them that stand before it: another text will follow.
  text_before,     // Another text, whose tokens end there.
};

// One thread at a time: it remembers words.
class Tokenizer {
 public:
  // `name`: the file, for errors. Fails (invalid, unsupported) with the place in the JSON where the
  // first thing stands that is wrong or not known.
  static Result<Tokenizer> parse(std::string_view json, const std::string& name);

  // Appends the ids of `text`. Fails (invalid) if it is no UTF-8 or needs too long.
  Status encode(std::string_view text, Around around, std::vector<Id>& ids);

  // The text of tokens; ids that stand for none are left out, as are special ones if
  // `skips_special`, unless normalisation changed them (Hugging Face's tokenizers keep those).
  Result<std::string> decode(const std::vector<Id>& ids, bool skips_special) const;

  std::optional<Id> find(std::string_view token) const;
  // The id of an added token, which is found in any text whatever stands beside it.
  std::optional<Id> find_added(std::string_view token) const;
  std::optional<std::string> token(Id id) const;
  // One more than the highest id.
  std::uint64_t end() const { return end_; }

 private:
  void read_added_tokens(TableReader& root);
  void add_token(TableReader& row, AddedToken token);
  Status find_added_tokens();
  Status encode_text(std::string_view text, bool at_start, std::vector<Id>& ids);
  Status encode_words(std::string text, bool at_start, std::vector<Id>& ids);

  std::unique_ptr<Normalizer> normalizer_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  std::unique_ptr<Decoder> decoder_;
  Surroundings surroundings_;
  Bpe bpe_;
  std::vector<AddedToken> added_;
  std::unordered_map<std::string, std::size_t> added_by_content_;  // Places in added_.
  std::unordered_map<Id, std::size_t> added_by_id_;
  Id highest_added_ = -1;
  AddedTokenFinder plain_, normalised_;  // By which text they are looked for in.
  std::uint64_t end_ = 0;
};

}  // namespace headroom::tokens
