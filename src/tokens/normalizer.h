// SPDX-License-Identifier: Apache-2.0
// The "normalizer" of tokenizer.json: what a text is changed into before it is cut into words.
#pragma once

#include <memory>
#include <string>

#include "base/document_reader.h"
#include "base/result.h"

namespace headroom::tokens {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // Changes `text`, which is UTF-8 before and after. Fails where the text becomes too long, or
  // where a pattern needs too many steps.
  virtual Status apply(std::string& text) const = 0;
};

// Reads the object at `key`; null if there is none or it is null. What is wrong with it is kept in
// the reader.
std::unique_ptr<Normalizer> read_normalizer(TableReader& table, std::string_view key);

}  // namespace headroom::tokens
