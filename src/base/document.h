// SPDX-License-Identifier: Apache-2.0
// Configuration text, TOML or JSON, as one JSON value that remembers the line of every key.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/document_fwd.h"
#include "base/result.h"

namespace headroom {

struct Document {
  Json value;
  std::map<std::string, int>
      lines;  // JSON pointer ("/batch/micro") → line, from 1. Empty for JSON text.

  // "line 7: " for a pointer whose line is known, else "".
  std::string place(const std::string& pointer) const;
};

// Both fail with the line and column of the first mistake. Dates in TOML become text. Neither
// throws, and neither can be made to recurse without bound: nesting deeper than 100 is refused.
Result<Json> parse_json(std::string_view text);
Result<Document> parse_toml(std::string_view text);

// Parses JSON if the first character that is not blank is '{', else TOML.
Result<Document> parse_document(std::string_view text);

}  // namespace headroom
