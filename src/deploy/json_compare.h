// SPDX-License-Identifier: Apache-2.0
// Whether two JSON values say the same: the same structure, with numbers near enough to each other.
#pragma once

#include <string>
#include <vector>

#include "base/document_fwd.h"

namespace headroom::deploy {

struct Sameness {
  double tolerance = 0;             // Relative to the larger of two numbers.
  std::vector<std::string> ignore;  // RFC 6901: what is at and below them is not compared.
};

// The first difference, with its pointer: "expected 0.98 at /faces/0/score, found 0.11". Empty
// where there is none.
std::string compare_json(const Json& expected, const Json& found, const Sameness& sameness);

// nullptr where nothing is there, and for what is no pointer.
const Json* value_at(const Json& document, const std::string& pointer);

// By RFC 6901: empty, or parts that begin with '/', in which '~' stands before 0 or 1.
bool is_pointer(const std::string& text);

}  // namespace headroom::deploy
