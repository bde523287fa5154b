// SPDX-License-Identifier: Apache-2.0
// Values out of a JSON document that may lack them, by JSON pointer: nothing where there is none,
// or one of another type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/document_fwd.h"

namespace headroom::report {

// Null where nothing, or null, stands there. Each requires: `pointer` is well formed.
const Json* find_value(const Json& document, const std::string& pointer);
std::optional<std::uint64_t> find_count(const Json& document, const std::string& pointer);
std::optional<double> find_number(const Json& document, const std::string& pointer);
std::string find_text(const Json& document, const std::string& pointer);  // Empty: none.
// The elements of an array; of anything else none.
const Json& find_list(const Json& document, const std::string& pointer);

}  // namespace headroom::report
