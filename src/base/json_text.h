// SPDX-License-Identifier: Apache-2.0
// JSON values as text, whatever their strings hold. Paths, arguments and names are bytes, and
// Json::dump throws where they are no UTF-8.
#pragma once

#include <string>

#include "base/document_fwd.h"

namespace headroom {

// Bytes that are no UTF-8 become U+FFFD. `indent`: blanks for each level; below 0: all in one line.
std::string to_json_text(const Json& value, int indent = -1);

}  // namespace headroom
