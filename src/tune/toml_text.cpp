// SPDX-License-Identifier: Apache-2.0
#include "tune/toml_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace headroom::tune {
namespace {

std::string toml_key(const std::string& name) {
  const bool is_bare = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  return is_bare ? name : toml_string(name);
}

}  // namespace

std::string toml_string(std::string_view text) {
  std::string word = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      word += fmt::format("\\u{:04x}", byte);
      continue;
    }
    if (c == '"' || c == '\\') word += '\\';
    word += c;
  }
  return word + "\"";
}

std::string toml_list(const std::vector<std::string>& values) {
  std::vector<std::string> words;
  words.reserve(values.size());
  for (const std::string& value : values) words.push_back(toml_string(value));
  return "[" + join(words, ", ") + "]";
}

std::string toml_table(const std::map<std::string, std::string>& values) {
  std::vector<std::string> parts;
  parts.reserve(values.size());
  for (const auto& [name, value] : values)
    parts.push_back(toml_key(name) + " = " + toml_string(value));
  return "{ " + join(parts, ", ") + " }";
}

}  // namespace headroom::tune
