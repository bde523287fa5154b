// SPDX-License-Identifier: Apache-2.0
// The typed values of a TableReader; where they stand and what errors say is document_reader.cpp's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/document.h"
#include "base/document_reader.h"
#include "base/encoding.h"
#include "base/text.h"

namespace headroom {
namespace {

std::string in_quotes(const std::string& text) {
  return fmt::format("\"{}\"", text);
}

std::string in_words(Range range) {
  const bool unbounded = range.max == std::numeric_limits<std::uint64_t>::max();
  if (!unbounded) return fmt::format("a whole number from {} to {}", range.min, range.max);
  return range.min == 0 ? "a whole number"
                        : fmt::format("a whole number of at least {}", range.min);
}

bool holds(const Range& range, const std::optional<std::uint64_t>& number) {
  return number && *number >= range.min && *number <= range.max;
}

template <class Is>
bool all_are(const Json& value, Is is) {
  return value.is_structured() && std::all_of(value.begin(), value.end(), is);
}

bool is_text(const Json& value) {
  return value.is_string();
}

}  // namespace

std::optional<std::uint64_t> whole_number(const Json& value) {
  constexpr double largest = 9007199254740992.0;  // 2^53; every whole double up to it is exact.
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer()) {  // From TOML it is signed also where it is positive.
    const auto number = value.get<std::int64_t>();
    return number < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(number));
  }
  const double number = value.is_number_float() ? value.get<double>() : -1;
  if (!(number >= 0 && number <= largest) || std::trunc(number) != number) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

// ---- values that may be absent ----

void TableReader::read(std::string_view key, std::string& out) {
  const Json* value = find(key);
  if (value == nullptr) return;
  if (!value->is_string()) return refuse(key, {"text", in_quotes(out)});
  out = value->get<std::string>();
}

void TableReader::read(std::string_view key, std::optional<std::string>& out) {
  const Json* value = find(key);
  if (value == nullptr) return;
  if (!value->is_string()) return refuse(key, {"text", "\"…\""});
  out = value->get<std::string>();
}

void TableReader::read(std::string_view key, bool& out) {
  const Json* value = find(key);
  if (value == nullptr) return;
  if (!value->is_boolean()) return refuse(key, {"true or false", out ? "true" : "false"});
  out = value->get<bool>();
}

void TableReader::read(std::string_view key, std::optional<bool>& out) {
  const Json* value = find(key);
  if (value == nullptr) return;
  if (!value->is_boolean()) return refuse(key, {"true or false", "true"});
  out = value->get<bool>();
}

void TableReader::read(std::string_view key, double& out, double min, double max) {
  const Json* value = find(key);
  if (value == nullptr) return;
  const double number = value->is_number() ? value->get<double>() : max + 1;
  if (number >= min && number <= max) {  // Not-a-number is neither.
    out = number;
  } else {
    refuse(key, {fmt::format("a number from {:g} to {:g}", min, max), fmt::format("{:g}", out)});
  }
}

void TableReader::read(std::string_view key, std::uint64_t& out, Range range) {
  const Json* value = find(key);
  if (value == nullptr) return;
  const auto whole = whole_number(*value);
  if (holds(range, whole)) {
    out = *whole;
  } else {
    refuse(key, {in_words(range), std::to_string(std::clamp(out, range.min, range.max))});
  }
}

void TableReader::read_or_auto(std::string_view key, std::optional<std::uint64_t>& out,
                               Range range) {
  const Json* value = find(key);
  if (value == nullptr) return;
  if (*value == "auto") {
    out.reset();
    return;
  }
  std::uint64_t number = out.value_or(range.min);
  read(key, number, range);
  if (!reader_->failed()) out = number;
}

void TableReader::read(std::string_view key, std::optional<Bytes>& out) {
  const Json* value = find(key);
  if (value == nullptr || *value == "auto") return;
  if (const auto whole = whole_number(*value)) {
    out = Bytes{*whole};
    return;
  }
  if (!value->is_string()) return refuse(key, {"a size such as \"16GiB\"", "\"16GiB\""});
  const Result<Bytes> size = parse_bytes(value->get<std::string>());
  if (size) {
    out = *size;
  } else {
    fail(key, size.error().code, size.error().message, size.error().next);
  }
}

void TableReader::read(std::string_view key, std::vector<std::string>& out) {
  const Json* value = find(key);
  if (value == nullptr) return;
  if (value->is_string()) {
    out = {value->get<std::string>()};
  } else if (value->is_array() && all_are(*value, is_text)) {
    out = value->get<std::vector<std::string>>();
  } else {
    refuse(key, {"a text or an array of texts", out.empty() ? "[\"…\"]" : in_quotes(out[0])});
  }
}

void TableReader::read(std::string_view key, std::vector<double>& out) {
  const Json* value = find(key);
  if (value == nullptr) return;
  const auto is_number = [](const Json& one) { return one.is_number(); };
  if (!value->is_array() || !all_are(*value, is_number)) {
    return refuse(key, {"an array of numbers", "[0, 1]"});
  }
  out = value->get<std::vector<double>>();
}

void TableReader::read(std::string_view key, std::map<std::string, std::string>& out) {
  const Json* value = find(key);
  if (value == nullptr) return;
  if (!value->is_object() || !all_are(*value, is_text)) {
    return refuse(key, {"names, each with a text", "{ name = \"…\" }"});
  }
  out = value->get<std::map<std::string, std::string>>();
}

void TableReader::read_only(std::string_view key, const Json& supported) {
  const Json* value = find(key);
  if (value == nullptr || *value == supported) return;
  fail(key, Errc::unsupported,
       fmt::format("this version knows only {}, found {}", found_at(&supported), found_at(value)),
       fmt::format("leave {} out", key));
}

std::optional<std::size_t> TableReader::read_position(std::string_view key,
                                                      const std::vector<std::string>& names) {
  if (find(key) == nullptr) return std::nullopt;
  return position_of(key, names, Need::optional);
}

// ---- values that must be there ----

std::string TableReader::text(std::string_view key) {
  const Json* value = find(key);
  if (value != nullptr && value->is_string()) return value->get<std::string>();
  refuse(key, {"text", "\"…\"", Need::required});
  return "";
}

bool TableReader::flag(std::string_view key) {
  const Json* value = find(key);
  if (value != nullptr && value->is_boolean()) return value->get<bool>();
  refuse(key, {"true or false", "true", Need::required});
  return false;
}

std::uint64_t TableReader::number(std::string_view key, Range range) {
  const Json* value = find(key);
  const auto whole = value == nullptr ? std::nullopt : whole_number(*value);
  if (holds(range, whole)) return *whole;
  refuse(key, {in_words(range), std::to_string(range.min), Need::required});
  return range.min;
}

std::optional<std::uint64_t> TableReader::nullable_number(std::string_view key, Range range) {
  const Json* value = find(key);
  if (value != nullptr && value->is_null()) return std::nullopt;
  return number(key, range);
}

std::optional<std::size_t> TableReader::position_of(std::string_view key,
                                                    const std::vector<std::string>& names,
                                                    Need need) {
  const Json* value = find(key);
  const std::string wanted = "one of " + join(names, ", ");
  if (value == nullptr || !value->is_string()) {
    refuse(key, {wanted, in_quotes(names.front()), need});
    return std::nullopt;
  }
  const auto word = value->get<std::string>();
  const auto found = std::find(names.begin(), names.end(), word);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const std::string& next = reader_->words_.next;
  fail(key, Errc::invalid, fmt::format("expected {}, found {}", wanted, found_at(value)),
       next.empty()
           ? fmt::format("write {} = \"{}\"", key, nearest(word, names).value_or(names.front()))
           : next);
  return std::nullopt;
}

// ---- bytes ----

std::optional<std::string> TableReader::to_bytes(const Json* value, const Place& place) {
  if (value != nullptr && value->is_string()) return value->get<std::string>();
  if (value != nullptr && value->is_object() && value->size() == 1) {
    const auto coded = value->find("base64");
    if (coded != value->end() && coded->is_string()) {
      if (auto bytes = from_base64(coded->get_ref<const std::string&>())) return *std::move(bytes);
    }
  }
  fail_at(
      place, value,
      {Errc::invalid, fmt::format("expected text, or {{\"base64\": …}}, found {}", found_at(value)),
       reader_->words_.next});
  return std::nullopt;
}

std::string TableReader::byte_string(std::string_view key) {
  return to_bytes(find(key), place_of(key)).value_or("");
}

std::optional<std::string> TableReader::nullable_byte_string(std::string_view key) {
  const Json* value = find(key);
  if (value != nullptr && value->is_null()) return std::nullopt;
  return to_bytes(value, place_of(key)).value_or("");
}

std::vector<std::string> TableReader::byte_strings(std::string_view key) {
  std::vector<std::string> list;
  const Json* value = find(key);
  if (value == nullptr || !value->is_array()) {
    wrong(key, "a list of texts");
    return list;
  }
  const Place place = place_of(key);
  for (const Json& one : *value) {
    list.push_back(to_bytes(&one, place_of(place, list.size())).value_or(""));
  }
  return list;
}

}  // namespace headroom
