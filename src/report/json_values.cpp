// SPDX-License-Identifier: Apache-2.0
#include "report/json_values.h"

#include "base/document.h"

namespace headroom::report {

const Json* find_value(const Json& document, const std::string& pointer) {
  const Json::json_pointer place(pointer);
  if (!document.contains(place)) return nullptr;
  const Json& value = document.at(place);
  return value.is_null() ? nullptr : &value;
}

std::optional<std::uint64_t> find_count(const Json& document, const std::string& pointer) {
  const Json* value = find_value(document, pointer);
  // A value that was never text is signed where the code that made it has an int.
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  if (!value->is_number_unsigned() && value->get<std::int64_t>() < 0) return std::nullopt;
  return value->get<std::uint64_t>();
}

std::optional<double> find_number(const Json& document, const std::string& pointer) {
  const Json* value = find_value(document, pointer);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

std::string find_text(const Json& document, const std::string& pointer) {
  const Json* value = find_value(document, pointer);
  return value == nullptr || !value->is_string() ? "" : value->get<std::string>();
}

const Json& find_list(const Json& document, const std::string& pointer) {
  static const Json none = Json::array();
  const Json* value = find_value(document, pointer);
  return value == nullptr || !value->is_array() ? none : *value;
}

}  // namespace headroom::report
