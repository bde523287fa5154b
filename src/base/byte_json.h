// SPDX-License-Identifier: Apache-2.0
// Bytes as JSON, none lost: a string, or {"base64": "…"} where they are no UTF-8, since contents of
// files and names may hold any bytes. TableReader::byte_string reads them back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace headroom {

nlohmann::ordered_json bytes_to_json(const std::string& bytes);
nlohmann::ordered_json bytes_to_json(const std::optional<std::string>& bytes);  // nullopt: null.
nlohmann::ordered_json bytes_to_json(const std::vector<std::string>& list);

}  // namespace headroom
