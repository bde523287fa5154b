// SPDX-License-Identifier: Apache-2.0
// The "decoder" of tokenizer.json: how tokens are put together to the text that they stand for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/document_reader.h"
#include "base/result.h"

namespace headroom::tokens {

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Changes the texts of tokens, one after the other; joined they are the answer.
  virtual Status apply(std::vector<std::string>& texts) const = 0;
};

// Reads the object at `key`; null if there is none or it is null. What is wrong with it is kept in
// the reader.
std::unique_ptr<Decoder> read_decoder(TableReader& table, std::string_view key);

}  // namespace headroom::tokens
