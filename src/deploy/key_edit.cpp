// SPDX-License-Identifier: Apache-2.0
#include "deploy/key_edit.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "base/text.h"

namespace headroom::deploy {
namespace {

// A line that sets a name, and the bytes of its value without quotes.
struct Line {
  std::string name;
  std::size_t begin = 0, end = 0;  // In the whole text.
  std::size_t number = 0;          // From 1.
};

struct KeyText {
  std::vector<Line> lines;
  bool has_sections = false;
};

// Where a comment begins behind a value: at a '#' or ';' that follows a blank.
std::size_t end_of_value(std::string_view line, std::size_t from) {
  for (std::size_t i = from; i < line.size(); ++i) {
    const bool starts = i == from || line[i - 1] == ' ' || line[i - 1] == '\t';
    if ((line[i] == '#' || line[i] == ';') && starts) return i;
  }
  return line.size();
}

std::optional<Line> read_line(std::string_view line, std::size_t offset, std::size_t number) {
  const std::size_t equals = line.find('=');
  const std::string_view name = trim(line.substr(0, equals));
  if (equals == std::string_view::npos || name.empty()) return std::nullopt;
  std::size_t begin = equals + 1;
  while (begin < line.size() && (line[begin] == ' ' || line[begin] == '\t')) ++begin;
  const char quote = begin < line.size() ? line[begin] : '\0';
  if (quote == '"' || quote == '\'') {
    const std::size_t closes = line.find(quote, begin + 1);
    if (closes != std::string_view::npos)
      return Line{std::string(name), offset + begin + 1, offset + closes, number};
  }
  std::size_t end = end_of_value(line, begin);
  while (end > begin && (line[end - 1] == ' ' || line[end - 1] == '\t' || line[end - 1] == '\r'))
    --end;
  return Line{std::string(name), offset + begin, offset + end, number};
}

KeyText read_text(std::string_view text) {
  KeyText found;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const std::string_view words = trim(line);
    ++number;
    if (words.starts_with('[')) found.has_sections = true;
    const bool is_comment = words.empty() || words.front() == '#' || words.front() == ';';
    if (!is_comment && words.front() != '[') {
      if (auto one = read_line(line, at, number)) found.lines.push_back(*std::move(one));
    }
    at = end + 1;
  }
  return found;
}

Error not_plain(const std::string& file, const std::string& name, const std::string& found) {
  return {Errc::unsupported,
          fmt::format("{}: expected one line \"{} = …\", found {}", file, name, found),
          "write the whole new file, and name it: [[change]] with = \"…\""};
}

Result<std::string> edit_key(const std::string& file, std::string text, const std::string& name,
                             const std::string& value) {
  const KeyText lines = read_text(text);
  const Line* place = nullptr;
  for (const Line& line : lines.lines) {
    if (line.name != name) continue;
    if (place != nullptr)
      return not_plain(file, name,
                       fmt::format("two, in lines {} and {}", place->number, line.number));
    place = &line;
  }
  if (place != nullptr) return text.replace(place->begin, place->end - place->begin, value);
  if (lines.has_sections)
    return not_plain(file, name, "none, and sections of which any may be the right one");
  const std::string line_end = text.find("\r\n") != std::string::npos ? "\r\n" : "\n";
  if (!text.empty() && text.back() != '\n') text += line_end;
  return text + name + " = " + value + line_end;
}

}  // namespace

std::map<std::string, std::string> read_keys(std::string_view text) {
  std::map<std::string, std::string> keys;
  for (const Line& line : read_text(text).lines)
    keys[line.name] = std::string(text.substr(line.begin, line.end - line.begin));
  return keys;
}

Result<std::string> edit_keys(const std::string& file, std::string text,
                              const std::map<std::string, std::string>& keys) {
  for (const auto& [name, value] : keys) {
    HEADROOM_TRY(text, edit_key(file, std::move(text), name, value));
    const auto now = read_keys(text);
    const auto found = now.find(name);
    if (found == now.end() || found->second != value)
      return not_plain(file, name, "one that does not take \"" + value + "\" as its value");
  }
  return text;
}

}  // namespace headroom::deploy
