// SPDX-License-Identifier: Apache-2.0
// The "pre_tokenizer" of tokenizer.json: how a text is cut into the words that the model's merges
// never cross, and in which alphabet the words are written.
#pragma once

#include <memory>

#include "base/document_reader.h"
#include "base/result.h"
#include "tokens/pieces.h"

namespace headroom::tokens {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Fails where a pattern needs too many steps (pattern.h).
  virtual Status apply(Pieces& pieces) const = 0;
};

// Reads the object at `key`; null if there is none or it is null. What is wrong with it is kept in
// the reader.
std::unique_ptr<PreTokenizer> read_pre_tokenizer(TableReader& table, std::string_view key);

// Where a Metaspace puts its replacement in front of a text.
enum class PrependScheme : std::uint8_t { always, never, first };
// Of a Metaspace of any age: "prepend_scheme", or "add_prefix_space" before there was such a key.
PrependScheme read_prepend_scheme(TableReader& table);

}  // namespace headroom::tokens
