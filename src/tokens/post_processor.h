// SPDX-License-Identifier: Apache-2.0
// The "post_processor" of tokenizer.json: the tokens that stand around every text, <s> for
// instance.
#pragma once

#include <vector>

#include "base/document_reader.h"
#include "tokens/merges.h"

namespace headroom::tokens {

struct Surroundings {
  std::vector<Id> before, behind;
};

// Reads the object at `key`; nothing surrounds a text if there is none or it is null. What is wrong
// with it is kept in the reader.
Surroundings read_post_processor(TableReader& table, std::string_view key);

}  // namespace headroom::tokens
