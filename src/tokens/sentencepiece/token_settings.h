// SPDX-License-Identifier: Apache-2.0
// What stands beside a tokenizer.model and changes its ids: the tokens that transformers adds to
// its pieces, and which of them it puts around a text. tokenizer_config.json goes first; the other
// two files are read where it has no added_tokens_decoder, as transformers does.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tokens/added_tokens.h"

namespace headroom::tokens {

// The texts of the files; empty: there is none. `folder`: before their names in errors.
struct SettingsFiles {
  static constexpr std::array names = {"tokenizer_config.json", "special_tokens_map.json",
                                       "added_tokens.json"};
  std::string folder = {};
  std::array<std::string, names.size()> texts = {};
};

struct TokenSettings {
  std::vector<AddedToken> added;  // Id −1: that of the piece, or else the next one that is free.
  std::optional<std::string> begin = {}, end = {};  // As they are written in the files.
  bool adds_begin = true, adds_end = false;         // Around every text.
  bool ends_once = false;                           // Not if the text has it already.
  bool adds_prefix = true;                          // If the model does: a blank before a text.
  bool prefixes_parts = false;  // Also behind each added token: `"legacy": true`.
};

// Without files: as transformers' LlamaTokenizer has them. Fails (invalid) on other JSON than is
// expected, and (unsupported) on the tokenizers of families that number their pieces otherwise.
Result<TokenSettings> read_token_settings(const SettingsFiles& files);

}  // namespace headroom::tokens
