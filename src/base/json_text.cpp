// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.h"

#include "base/document.h"

namespace headroom {

std::string to_json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace headroom
