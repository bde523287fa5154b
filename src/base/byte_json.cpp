// SPDX-License-Identifier: Apache-2.0
#include "base/byte_json.h"

#include "base/encoding.h"

namespace headroom {

using Ordered = nlohmann::ordered_json;

Ordered bytes_to_json(const std::string& bytes) {
  if (is_utf8(bytes)) return Ordered(bytes);
  return Ordered{{"base64", to_base64(bytes)}};
}

Ordered bytes_to_json(const std::optional<std::string>& bytes) {
  return bytes ? bytes_to_json(*bytes) : Ordered(nullptr);
}

Ordered bytes_to_json(const std::vector<std::string>& list) {
  Ordered json = Ordered::array();
  for (const std::string& bytes : list) json.push_back(bytes_to_json(bytes));
  return json;
}

}  // namespace headroom
