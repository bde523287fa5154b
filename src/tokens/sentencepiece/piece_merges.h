// SPDX-License-Identifier: Apache-2.0
// SentencePiece's byte-pair encoding: of neighbours that are a piece together, those of the highest
// score become it first, and of these the leftmost (bpe_model.cc). A piece with its score is thus a
// merge of every two parts that it has, which Bpe is given.
#pragma once

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tokens/added_tokens.h"
#include "tokens/bpe.h"
#include "tokens/sentencepiece/piece_model.h"

namespace headroom::tokens {

// One thread at a time: it remembers words.
class PieceMerges {
 public:
  // Fails (unsupported) on an unused piece that can be made in several ways, because it is unmade
  // as it was made.
  static Result<PieceMerges> make(const PieceModel& model);

  // Appends the pieces of a normalised text; what is in none becomes as in Unigram::encode.
  // Requires: text is UTF-8.
  void encode(std::string_view text, std::vector<Id>& ids);

 private:
  explicit PieceMerges(Bpe bpe) : bpe_(std::move(bpe)) {}
  void append(Id id, std::vector<Id>& ids, std::size_t first) const;

  Bpe bpe_;
  AddedTokenFinder frozen_;  // User-defined pieces.
  Id unknown_ = -1;
  Id end_ = 0;             // Ids from here on are characters that are no piece by themselves.
  std::vector<Id> bytes_;  // Empty: the model has none.
  std::unordered_map<Id, std::pair<Id, Id>> unmade_;  // Unused pieces, and what they come from.
};

}  // namespace headroom::tokens
