// SPDX-License-Identifier: Apache-2.0
// A SentencePiece model as it stands in its file, tokenizer.model: pieces with their scores, and
// how a text is normalised before it is cut into them. Format: src/sentencepiece_model.proto of
// https://github.com/google/sentencepiece.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokens/vocabulary.h"

namespace headroom::tokens {

struct Piece {
  enum class Kind : std::uint8_t {
    normal = 1,
    unknown = 2,       // What is not in the vocabulary.
    control = 3,       // Is never made of text: <s>.
    user_defined = 4,  // Is never cut, and never merged with what stands beside it.
    unused = 5,
    byte = 6,  // <0x0A> and so on, if the model falls back to bytes.
  };
  std::string text = {};
  float score = 0;
  Kind kind = Kind::normal;
};

struct PieceModel {
  enum class Kind : std::uint8_t { unigram = 1, bpe = 2 };

  std::vector<Piece> pieces;  // By id.
  Kind kind = Kind::unigram;
  bool byte_fallback = false;
  Id unknown = -1;                             // The one piece of that kind.
  std::optional<Id> begin_id, end_id, pad_id;  // Of control pieces; nothing: the model has none.
  std::string character_map = {};    // character_map.h; empty: characters stay as they are.
  bool adds_prefix = true;           // A blank before a text.
  bool removes_extra_blanks = true;  // At both ends, and all but one between words.
  bool escapes_blanks = true;        // U+2581 in place of a blank.
};

// The byte that <0x0A> stands for.
std::optional<std::size_t> byte_of_piece(std::string_view text);

// `name`: the file, for errors. Fails (invalid) where the file is empty, cut or of another format
// or the library itself would not load it, and (unsupported) on models of words and of characters
// and on blanks behind words. Takes memory in proportion to the file.
Result<PieceModel> parse_piece_model(std::string_view bytes, const std::string& name);

}  // namespace headroom::tokens
