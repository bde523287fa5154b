// SPDX-License-Identifier: Apache-2.0
// What SentencePiece makes of a text before it cuts it into pieces: characters by the model's map,
// blanks as the model wants them. The rules are those of the library (normalizer.cc).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tokens/added_tokens.h"
#include "tokens/sentencepiece/character_map.h"
#include "tokens/sentencepiece/piece_model.h"

namespace headroom::tokens {

// What stands before a text.
enum class Before : std::uint8_t {
  nothing,  // A blank may be put before it, and blanks at its beginning may go.
  text,     // Neither.
  token,    // An added token: other white space than a blank may go, as in transformers.
};

class PieceNormalizer {
 public:
  // Fails where the model's map of characters does.
  static Result<PieceNormalizer> make(const PieceModel& model);

  // Requires: text is UTF-8. Fails (invalid) where a damaged map gives no UTF-8.
  Result<std::string> apply(std::string_view text, Before before) const;

 private:
  struct Taken {
    std::size_t length = 0;  // In bytes.
    std::string_view text = {};
  };
  Taken take(std::string_view text) const;
  void append(std::string_view text, std::string& normal) const;

  CharacterMap map_;
  AddedTokenFinder kept_;  // User-defined pieces, which are not normalised.
  bool has_kept_ = false;
  bool adds_prefix_ = true, removes_extra_blanks_ = true;
  std::string_view blank_;
};

}  // namespace headroom::tokens
