// SPDX-License-Identifier: Apache-2.0
#include "run/log_words.h"

#include <algorithm>

#include "base/text.h"
#include "knowledge/models.h"
#include "machine/user_files.h"

namespace headroom::run {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::optional<std::string_view> behind(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + mark.size());
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return line;
}

char closing(char opening) {
  return opening == '[' ? ']' : opening == '{' ? '}' : ')';
}

// The end of a list or a table whose first letter opens it; npos if it is cut off.
std::size_t end_of_brackets(std::string_view text) {
  std::string open;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[' || c == '{' || c == '(') {
      open.push_back(closing(c));
    } else if (!open.empty() && c == open.back()) {
      open.pop_back();
      if (open.empty()) return i + 1;
    }
  }
  return std::string_view::npos;
}

std::optional<std::string> value_at(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  if (text.empty()) return std::nullopt;
  const char first = text.front();
  if (first == '\'' || first == '"') {
    const std::size_t end = text.find(first, 1);
    if (end == std::string_view::npos) return std::nullopt;
    return std::string(text.substr(1, end - 1));
  }
  if (first == '[' || first == '{' || first == '(') {
    const std::size_t end = end_of_brackets(text);
    if (end == std::string_view::npos) return std::nullopt;
    return std::string(text.substr(0, end));
  }
  const std::string_view word = trim(text.substr(0, text.find_first_of(",)}; \t")));
  if (word.empty() || word == "None") return std::nullopt;
  return std::string(word);
}

// What follows a key: "=", " = ", "': ", "\": ".
std::optional<std::string_view> behind_key(std::string_view rest) {
  if (!rest.empty() && (rest.front() == '\'' || rest.front() == '"')) {
    rest.remove_prefix(1);
    if (rest.empty() || rest.front() != ':') return std::nullopt;
    return rest.substr(1);
  }
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  if (rest.empty() || rest.front() != '=') return std::nullopt;
  return rest.substr(1);
}

}  // namespace

std::optional<std::uint64_t> count_behind(std::string_view line, std::string_view mark) {
  const auto rest = behind(line, mark);
  if (!rest) return std::nullopt;
  std::string digits;
  for (std::size_t i = 0; i < rest->size(); ++i) {
    const char c = (*rest)[i];
    const bool separates =
        c == ',' && !digits.empty() && i + 1 < rest->size() && is_digit((*rest)[i + 1]);
    if (!is_digit(c) && !separates) break;
    if (is_digit(c)) digits.push_back(c);
  }
  return parse_u64(digits);
}

std::optional<Bytes> size_behind(std::string_view line, std::string_view mark) {
  auto rest = behind(line, mark);
  if (!rest) return std::nullopt;
  const std::size_t digits = std::min(rest->find_first_not_of("0123456789."), rest->size());
  std::string_view unit = rest->substr(digits);
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  unit = unit.substr(0, unit.find_first_not_of("KMGTiBb"));
  const auto bytes = parse_bytes(std::string(rest->substr(0, digits)) + std::string(unit));
  return bytes && !unit.empty() ? std::optional(*bytes) : std::nullopt;
}

std::string word_behind(std::string_view line, std::string_view mark) {
  const auto rest = behind(line, mark);
  if (!rest) return "";
  std::string_view word = rest->substr(0, rest->find_first_of(" \t,;)"));
  if (word.ends_with('.')) word.remove_suffix(1);
  return std::string(word);
}

std::optional<std::string> value_of_key(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    if (at > 0 && is_word(line[at - 1])) continue;
    const auto rest = behind_key(line.substr(at + key.size()));
    if (rest) return value_at(*rest);
  }
  return std::nullopt;
}

std::string hub_name(std::string_view path) {
  constexpr std::string_view prefix = "models--";
  const std::size_t at = path.find(prefix);
  if (at == std::string_view::npos) return "";
  std::string_view name = path.substr(at + prefix.size());
  name = name.substr(0, name.find('/'));
  const std::size_t dashes = name.find("--");
  if (dashes == std::string_view::npos) return std::string(name);
  return std::string(name.substr(0, dashes)) + "/" + std::string(name.substr(dashes + 2));
}

std::string model_at(const std::string& path) {
  if (!path.starts_with('/') || machine::kind_of(path)) return path;
  if (std::string name = hub_name(path); !name.empty()) return name;
  const std::size_t end = path.find_last_not_of('/');
  const std::string bare = path.substr(0, end == std::string::npos ? 0 : end + 1);
  const std::string last = bare.substr(bare.rfind('/') + 1);
  const auto known = knowledge::find_model(last);
  return known && !last.empty() ? last : path;
}

}  // namespace headroom::run
