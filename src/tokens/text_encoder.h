// SPDX-License-Identifier: Apache-2.0
// Text as the token ids of a model: by its tokenizer, or byte by byte for a model without one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokens/tokenizer.h"

namespace headroom::tokens {

// One thread at a time.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  // Appends the ids of `text`. Fails (invalid) where it is no text, or needs too long.
  virtual Status encode(std::string_view text, Around around, std::vector<Id>& ids) = 0;
  // Whether `token` is one that is found in any text, whatever stands beside it.
  virtual bool has_added(std::string_view token) const = 0;
  // What ends a text; nothing if the model has no such token.
  virtual std::optional<Id> end_of_text() const = 0;
  // A token as people read it, for errors.
  virtual std::string shown(Id id) const = 0;
};

// Ids 0–255 are the bytes of UTF-8, `end` ends a text.
class ByteEncoder final : public TextEncoder {
 public:
  explicit ByteEncoder(Id end) : end_(end) {}
  Status encode(std::string_view text, Around around, std::vector<Id>& ids) override;
  bool has_added(std::string_view /*token*/) const override { return false; }
  std::optional<Id> end_of_text() const override { return end_; }
  std::string shown(Id id) const override;

 private:
  Id end_;
};

class TokenEncoder final : public TextEncoder {
 public:
  // `end`: the token that ends a text, if it is known.
  TokenEncoder(Tokenizer tokenizer, std::optional<Id> end)
      : tokenizer_(std::move(tokenizer)), end_(end) {}
  Status encode(std::string_view text, Around around, std::vector<Id>& ids) override {
    return tokenizer_.encode(text, around, ids);
  }
  bool has_added(std::string_view token) const override {
    return tokenizer_.find_added(token).has_value();
  }
  std::optional<Id> end_of_text() const override { return end_; }
  std::string shown(Id id) const override;

 private:
  Tokenizer tokenizer_;
  std::optional<Id> end_;
};

}  // namespace headroom::tokens
