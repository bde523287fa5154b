// SPDX-License-Identifier: Apache-2.0
#include "knowledge/table_reader.h"

#include <fmt/format.h>

namespace headroom::knowledge {

TableReader::TableReader(const Document& document, std::string place)
    : document_(document), place_(std::move(place)) {
  const Json::json_pointer pointer(place_);
  if (document.value.contains(pointer)) row_ = document.value.at(pointer);
}

Error TableReader::wrong(const std::string& key, const std::string& expected) const {
  return {Errc::invalid,
          fmt::format("{}{}: expected {}", document_.place(place_ + "/" + key),
                      key.empty() ? place_ : key, expected),
          ""};
}

const Json* TableReader::find(const std::string& key) {
  read_.insert(key);
  const auto found = row_.find(key);
  return found == row_.end() ? nullptr : &*found;
}

Result<std::string> TableReader::text(const std::string& key) {
  const Json* value = find(key);
  if (value == nullptr || !value->is_string()) return wrong(key, "text");
  return value->get<std::string>();
}

Result<std::string> TableReader::text_or(const std::string& key, std::string fallback) {
  if (!has(key)) return fallback;
  return text(key);
}

Result<int> TableReader::number(const std::string& key) {
  const Json* value = find(key);
  if (value == nullptr || !value->is_number_integer()) return wrong(key, "a whole number");
  return value->get<int>();
}

Result<std::uint64_t> TableReader::count(const std::string& key) {
  const Json* value = find(key);
  if (value == nullptr || !value->is_number_integer() || *value < 0)
    return wrong(key, "a whole number");
  return value->get<std::uint64_t>();
}

Result<Json> TableReader::table_or_none(const std::string& key) {
  const Json* value = find(key);
  if (value == nullptr) return Json::object();
  if (!value->is_object()) return wrong(key, "a table");
  return *value;
}

Result<Json> TableReader::list_or_none(const std::string& key) {
  const Json* value = find(key);
  if (value == nullptr) return Json::array();
  if (!value->is_array()) return wrong(key, "a list");
  return *value;
}

Result<bool> TableReader::flag_or(const std::string& key, bool fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) return wrong(key, "true or false");
  return value->get<bool>();
}

Result<std::vector<std::string>> TableReader::texts_or_none(const std::string& key) {
  std::vector<std::string> texts;
  const Json* value = find(key);
  if (value == nullptr) return texts;
  if (!value->is_array()) return wrong(key, "a list of text");
  for (const Json& element : *value) {
    if (!element.is_string()) return wrong(key, "a list of text");
    texts.push_back(element.get<std::string>());
  }
  return texts;
}

Result<std::vector<double>> TableReader::numbers_or_none(const std::string& key) {
  std::vector<double> numbers;
  const Json* value = find(key);
  if (value == nullptr) return numbers;
  if (!value->is_array()) return wrong(key, "a list of numbers");
  for (const Json& element : *value) {
    if (!element.is_number()) return wrong(key, "a list of numbers");
    numbers.push_back(element.get<double>());
  }
  return numbers;
}

Result<std::map<std::string, std::string>> TableReader::named_texts(const std::string& key) {
  std::map<std::string, std::string> texts;
  const Json* value = find(key);
  if (value == nullptr) return texts;
  if (!value->is_object()) return wrong(key, "names with text");
  for (const auto& [name, element] : value->items()) {
    if (!element.is_string()) return wrong(key, "names with text");
    texts[name] = element.get<std::string>();
  }
  return texts;
}

std::vector<std::string> TableReader::rows(const std::string& key) {
  std::vector<std::string> places;
  const Json* value = find(key);
  if (value == nullptr) return places;
  const std::string base = place_ + "/" + key + "/";
  if (value->is_object()) {
    for (const auto& [name, row] : value->items()) places.push_back(base + name);
  } else if (value->is_array()) {
    for (std::size_t i = 0; i < value->size(); ++i) places.push_back(base + std::to_string(i));
  }
  return places;
}

Status TableReader::finish() const {
  for (const auto& [key, value] : row_.items()) {
    if (!read_.contains(key)) return wrong(key, "no such key");
  }
  return Done{};
}

}  // namespace headroom::knowledge
