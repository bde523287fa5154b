// SPDX-License-Identifier: Apache-2.0
#include "plan/json_fields.h"

#include <fmt/format.h>

#include "base/document.h"
#include "base/encoding.h"

namespace headroom::plan {

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

void Mistake::say(const std::string& place, std::string_view expected, const Json* found) {
  if (error) return;
  constexpr std::size_t longest = 60;
  std::string seen = "nothing";
  if (found != nullptr) {
    seen = found->dump(-1, ' ', true, Json::error_handler_t::replace);
    if (seen.size() > longest) seen = seen.substr(0, longest) + "...";
  }
  error = Error{Errc::invalid, fmt::format("{}: expected {}, found {}", place, expected, seen),
                "headroom history"};
}

Fields::Fields(const Json& value, std::string place, Mistake& mistake)
    : value_(value), place_(std::move(place)), mistake_(mistake) {
  if (!value_.is_object()) mistake_.say(place_.empty() ? "/" : place_, "an object", &value_);
}

const Json* Fields::find(std::string_view key) const {
  if (!value_.is_object()) return nullptr;
  const auto found = value_.find(key);
  return found == value_.end() ? nullptr : &*found;
}

std::string Fields::place_of(std::string_view key) const {
  return fmt::format("{}/{}", place_, key);
}

void Fields::say(std::string_view key, std::string_view expected) const {
  mistake_.say(place_of(key), expected, find(key));
}

bool Fields::has(std::string_view key) const {
  const Json* value = find(key);
  return value != nullptr && !value->is_null();
}

std::string Fields::read_bytes(const Json* value, const std::string& place) const {
  if (value != nullptr && value->is_string()) return value->get<std::string>();
  if (value != nullptr && value->is_object() && value->size() == 1) {
    const auto coded = value->find("base64");
    if (coded != value->end() && coded->is_string()) {
      if (auto bytes = from_base64(coded->get_ref<const std::string&>())) return *std::move(bytes);
    }
  }
  mistake_.say(place, "text, or {\"base64\": …}", value);
  return "";
}

std::string Fields::text(std::string_view key) const {
  return read_bytes(find(key), place_of(key));
}

std::optional<std::string> Fields::optional_text(std::string_view key) const {
  const Json* value = find(key);
  if (value != nullptr && value->is_null()) return std::nullopt;
  return read_bytes(value, place_of(key));
}

std::vector<std::string> Fields::texts(std::string_view key) const {
  std::vector<std::string> list;
  const Json* value = find(key);
  if (value == nullptr || !value->is_array()) {
    say(key, "a list of texts");
    return list;
  }
  for (const Json& one : *value) {
    list.push_back(read_bytes(&one, fmt::format("{}/{}", place_of(key), list.size())));
  }
  return list;
}

bool Fields::boolean(std::string_view key) const {
  const Json* value = find(key);
  if (value != nullptr && value->is_boolean()) return value->get<bool>();
  say(key, "true or false");
  return false;
}

std::uint64_t Fields::number(std::string_view key, std::uint64_t largest) const {
  const Json* value = find(key);
  const bool whole = value != nullptr && value->is_number_unsigned();
  if (whole && value->get<std::uint64_t>() <= largest) return value->get<std::uint64_t>();
  say(key, fmt::format("a whole number of at most {}", largest));
  return 0;
}

std::optional<std::uint64_t> Fields::optional_number(std::string_view key,
                                                     std::uint64_t largest) const {
  const Json* value = find(key);
  if (value != nullptr && value->is_null()) return std::nullopt;
  return number(key, largest);
}

void Fields::each(std::string_view key, const std::function<void(const Fields&)>& read) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_array()) return say(key, "a list of objects");
  std::size_t i = 0;
  for (const Json& one : *value)
    read(Fields(one, fmt::format("{}/{}", place_of(key), i++), mistake_));
}

Fields Fields::object(std::string_view key) const {
  static const Json nothing;
  const Json* value = find(key);
  return {value == nullptr ? nothing : *value, place_of(key), mistake_};
}

}  // namespace headroom::plan
