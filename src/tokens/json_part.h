// SPDX-License-Identifier: Apache-2.0
// What the readers of tokenizer.json's parts share: an object with a "type", objects within objects
// to a limit, and how a type that is not known is refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/document_reader.h"
#include "tokens/pattern.h"

namespace headroom::tokens {

// Sequences within sequences are read to this depth; nobody writes more than two.
inline constexpr int deepest_sequence = 8;

// Keeps an error that says which types of `part` ("normalizer") are known.
void refuse_type(TableReader& table, std::string_view part, const std::vector<std::string>& known);

// {"String": "…"} or {"Regex": "…"} at `key`. What is wrong is kept in the reader; the answer is
// then only a placeholder.
Pattern read_pattern(TableReader& table, std::string_view key);

}  // namespace headroom::tokens
