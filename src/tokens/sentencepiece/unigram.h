// SPDX-License-Identifier: Apache-2.0
// SentencePiece's unigram model: of all ways to cut a text into pieces the one whose scores have
// the largest sum. As version 0.2 of the library computes it (unigram_model.cc,
// EncodeOptimized), with its rounding: sums in 32 bits, from the beginning of the text on.
#pragma once

#include <string_view>
#include <vector>

#include "tokens/sentencepiece/piece_model.h"
#include "tokens/sentencepiece/piece_tree.h"

namespace headroom::tokens {

// One thread at a time: keeps its memory from one text to the next.
class Unigram {
 public:
  Unigram() = default;
  explicit Unigram(const PieceModel& model);

  // Appends the pieces of a normalised text; characters that are in none become the unknown piece,
  // one for several in a row, or their bytes if the model has them. Requires: text is UTF-8. Takes
  // 12 bytes of memory for each of the text.
  void encode(std::string_view text, std::vector<Id>& ids);

 private:
  // The best way to cut the text up to a place: its sum, and its last piece.
  struct Best {
    Id piece = -1;
    float score = 0;
    std::int32_t begin = -1;  // −1: none yet.
  };
  void keep_small(std::size_t begin);
  void extend(std::string_view text, std::size_t begin, std::size_t length);
  void append(std::string_view text, Id piece, std::vector<Id>& ids) const;

  PieceTree tree_;
  std::vector<Piece::Kind> kinds_;
  std::vector<float> scores_;
  std::vector<Id> bytes_;  // Empty: the model has none.
  Id unknown_ = -1;
  float unknown_score_ = 0;
  std::vector<Best> best_;    // By the place where the last piece ends.
  std::size_t frontier_ = 0;  // The furthest place that has one.
};

}  // namespace headroom::tokens
