// SPDX-License-Identifier: Apache-2.0
#include "estimate/document_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/document.h"
#include "base/json_text.h"
#include "base/text.h"

namespace headroom::estimate {
namespace {

constexpr std::size_t shown_max = 60;  // Of a wrong value, that much is shown.

std::string in_quotes(const std::string& text) {
  return fmt::format("\"{}\"", text);
}

// A value as the person wrote it, near enough to recognise it, and never longer than a line.
std::string to_toml(const Json& value) {
  if (value.is_object()) return "a table";
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());  // nan and inf too.
  std::string text = to_json_text(value);
  if (text.size() <= shown_max) return text;
  std::size_t end = shown_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;  // UTF-8.
  return text.substr(0, end) + "…";
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

TableReader::TableReader(const Document& document, std::string pointer,
                         std::optional<Error>& problem)
    : document_(document), pointer_(std::move(pointer)), problem_(problem) {
  const Json::json_pointer place(pointer_);
  if (!document.value.contains(place)) return;
  const Json& table = document.value.at(place);
  if (table.is_object()) {
    table_ = &table;
  } else {
    fail("", Errc::invalid, fmt::format("expected a table, found {}", to_toml(table)),
         "write it as a [table] followed by lines such as key = value");
  }
}

void TableReader::fail(const std::string& key, Errc code, const std::string& message,
                       const std::string& next) {
  if (problem_) return;
  const std::string pointer = key.empty() ? pointer_ : pointer_ + "/" + key;
  std::string path = pointer.empty() ? "the job" : pointer.substr(1);
  std::replace(path.begin(), path.end(), '/', '.');
  problem_ = Error{code, document_.place(pointer) + path + ": " + message, next};
}

const Json* TableReader::find(const char* key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  if (table_ == nullptr) return nullptr;
  const auto found = table_->find(key);
  return found == table_->end() ? nullptr : &*found;
}

const Json* TableReader::expect(const char* key, bool right, const std::string& wanted,
                                const std::string& example) {
  const Json& value = table_->at(key);
  if (right) return &value;
  fail(key, Errc::invalid, fmt::format("expected {}, found {}", wanted, to_toml(value)),
       fmt::format("write for instance {} = {}, or leave {} out", key, example, key));
  return nullptr;
}

void TableReader::read(const char* key, std::string& out) {
  const Json* value = find(key);
  if (value != nullptr && expect(key, value->is_string(), "text", in_quotes(out))) out = *value;
}

void TableReader::read(const char* key, std::optional<std::string>& out) {
  const Json* value = find(key);
  if (value == nullptr || !expect(key, value->is_string(), "text", "\"…\"")) return;
  out = value->get<std::string>();
}

void TableReader::read(const char* key, bool& out) {
  const Json* value = find(key);
  if (value == nullptr) return;
  if (expect(key, value->is_boolean(), "true or false", out ? "true" : "false")) out = *value;
}

void TableReader::read(const char* key, double& out, double min, double max) {
  const Json* value = find(key);
  if (value == nullptr) return;
  const double number = value->is_number() ? value->get<double>() : max + 1;
  const bool right = number >= min && number <= max;  // Not-a-number is neither.
  const std::string wanted = fmt::format("a number from {:g} to {:g}", min, max);
  if (expect(key, right, wanted, fmt::format("{:g}", out))) out = number;
}

void TableReader::read(const char* key, std::uint64_t& out, Range range) {
  const Json* value = find(key);
  if (value == nullptr) return;
  const auto whole = whole_number(*value);
  const bool right = whole && *whole >= range.min && *whole <= range.max;
  const std::string wanted = fmt::format("a whole number from {} to {}", range.min, range.max);
  if (expect(key, right, wanted, std::to_string(std::clamp(out, range.min, range.max))))
    out = *whole;
}

void TableReader::read_or_auto(const char* key, std::optional<std::uint64_t>& out, Range range) {
  const Json* value = find(key);
  if (value == nullptr) return;
  if (*value == "auto") {
    out.reset();
    return;
  }
  std::uint64_t number = out.value_or(range.min);
  read(key, number, range);
  out = number;
}

void TableReader::read(const char* key, std::optional<Bytes>& out) {
  const Json* value = find(key);
  if (value == nullptr || *value == "auto") return;
  if (const auto whole = whole_number(*value)) {
    out = Bytes{*whole};
    return;
  }
  if (!expect(key, value->is_string(), "a size such as \"16GiB\"", "\"16GiB\"")) return;
  const Result<Bytes> size = parse_bytes(value->get<std::string>());
  if (size) {
    out = *size;
  } else {
    fail(key, size.error().code, size.error().message, size.error().next);
  }
}

void TableReader::read(const char* key, std::vector<std::string>& out) {
  const Json* value = find(key);
  if (value == nullptr) return;
  if (value->is_string()) {
    out = {value->get<std::string>()};
    return;
  }
  const bool texts = value->is_array() && std::all_of(value->begin(), value->end(),
                                                      [](const Json& v) { return v.is_string(); });
  if (expect(key, texts, "a text or an array of texts",
             out.empty() ? "[\"…\"]" : in_quotes(out[0])))
    out = value->get<std::vector<std::string>>();
}

std::optional<std::size_t> TableReader::read_position(const char* key,
                                                      const std::vector<std::string>& names) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const std::string wanted = "one of " + join(names, ", ");
  if (!expect(key, value->is_string(), wanted, in_quotes(names.front()))) return std::nullopt;
  const auto name = value->get<std::string>();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const auto meant = nearest(name, names);
  fail(key, Errc::invalid, fmt::format("expected {}, found \"{}\"", wanted, name),
       fmt::format("write {} = \"{}\"", key, meant.value_or(names.front())));
  return std::nullopt;
}

void TableReader::read_only(const char* key, const Json& supported) {
  const Json* value = find(key);
  if (value == nullptr || *value == supported) return;
  fail(key, Errc::unsupported,
       fmt::format("this version knows only {}, found {}", to_toml(supported), to_toml(*value)),
       fmt::format("leave {} out", key));
}

void TableReader::refuse_unknown() {
  if (table_ == nullptr) return;
  for (const auto& [key, value] : table_->items()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const auto meant = nearest(key, known_);
    fail(key, Errc::invalid, fmt::format("unknown key; known here: {}", join(known_, ", ")),
         meant ? fmt::format("did you mean {}?", *meant) : fmt::format("remove {}", key));
    return;
  }
}

}  // namespace headroom::estimate
