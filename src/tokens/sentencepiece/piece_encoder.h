// SPDX-License-Identifier: Apache-2.0
// Text as token ids by a tokenizer.model of SentencePiece and the files beside it. The ids are
// those of the SentencePiece library between added tokens, and those of transformers around them:
// a blank is put before the text and not behind a special token (`legacy` off). tools/tokens.py
// compares them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/result.h"
#include "tokens/added_tokens.h"
#include "tokens/sentencepiece/piece_merges.h"
#include "tokens/sentencepiece/piece_model.h"
#include "tokens/sentencepiece/piece_normalizer.h"
#include "tokens/sentencepiece/token_settings.h"
#include "tokens/sentencepiece/unigram.h"
#include "tokens/text_encoder.h"

namespace headroom::tokens {

class PieceEncoder final : public TextEncoder {
 public:
  // `name`: the file, for errors; `end`: the token that ends a text where no file beside the model
  // says. Fails where parse_piece_model and read_token_settings do.
  static Result<PieceEncoder> make(std::string_view model, const std::string& name,
                                   const SettingsFiles& files, std::optional<Id> end);

  Status encode(std::string_view text, Around around, std::vector<Id>& ids) override;
  bool has_added(std::string_view token) const override;
  std::optional<Id> end_of_text() const override { return end_; }
  std::string shown(Id id) const override;

  // Pieces of the model itself, without added tokens.
  std::size_t piece_count() const { return pieces_.size(); }

 private:
  void add_tokens(const PieceModel& model, const TokenSettings& settings);
  void add_token(AddedToken token);
  std::optional<Id> find(const std::optional<std::string>& token) const;
  Status encode_text(std::string_view text, Before before, std::vector<Id>& ids);

  std::vector<Piece> pieces_;
  PieceNormalizer normalizer_;
  std::variant<Unigram, std::unique_ptr<PieceMerges>> cutter_;
  AddedTokenFinder added_;
  std::unordered_map<std::string, Id> ids_;  // Of added tokens and user-defined pieces.
  std::unordered_map<std::string, Id> piece_ids_;
  std::unordered_map<Id, std::string> contents_;  // Of added tokens.
  Id next_ = 0;                                   // The next id that is free.
  std::optional<Id> before_, behind_;             // Stand around every text.
  std::optional<Id> end_;
  bool prefixes_parts_ = false, ends_once_ = false;
};

}  // namespace headroom::tokens
