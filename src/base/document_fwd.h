// SPDX-License-Identifier: Apache-2.0
// JSON values and documents by their names alone, for headers that only pass them on: the JSON
// library itself takes long to compile. Code that makes or reads a value includes base/document.h.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace headroom {

using Json = nlohmann::json;
struct Document;

}  // namespace headroom
