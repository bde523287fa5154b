// SPDX-License-Identifier: Apache-2.0
// Settings in files of nothing else, one per line: NAME=VALUE (environment.d(5), pam_env(8) of
// /etc/environment, EnvironmentFile=, .env) and NAME DEFAULT=VALUE OVERRIDE=VALUE
// (pam_env.conf(5)). A line that ends with a backslash is left to a person.
#include "base/text.h"
#include "facts/shell_words.h"
#include "plan/settings/setting_lines.h"

namespace headroom::plan {
namespace {

std::string without_quotes(std::string_view value) {
  value = trim(value);
  const bool quoted =
      value.size() > 1 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0];
  return std::string(quoted ? value.substr(1, value.size() - 2) : value);
}

struct Assignment {
  std::string_view name;
  std::string value;
};

std::optional<Assignment> parse_assignment(std::string_view line) {
  if (line.starts_with("export ") || line.starts_with("export\t")) line = trim(line.substr(7));
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view name = trim(line.substr(0, equals));
  if (facts::assigned_name_length(std::string(name) + "=") == 0) return std::nullopt;
  return Assignment{name, without_quotes(line.substr(equals + 1))};
}

std::optional<Assignment> parse_pam(std::string_view line) {
  const std::size_t blank = line.find_first_of(" \t");
  if (blank == std::string_view::npos || line.find('=') < blank) return parse_assignment(line);
  const std::string_view name = line.substr(0, blank);
  if (facts::assigned_name_length(std::string(name) + "=") == 0) return std::nullopt;
  std::string value;
  for (const std::string_view key : {"OVERRIDE=", "DEFAULT="}) {
    const std::size_t at = line.find(key, blank);
    if (at == std::string_view::npos || !value.empty()) continue;
    const std::string_view rest = line.substr(at + key.size());
    const char quote = rest.starts_with('"') ? '"' : ' ';
    const std::size_t begin = quote == '"' ? 1 : 0;
    value = std::string(rest.substr(begin, rest.find(quote, begin) - begin));
  }
  return Assignment{name, std::move(value)};
}

SettingLines find_by_line(std::string_view text,
                          std::optional<Assignment> (*parse)(std::string_view)) {
  SettingLines found;
  int number = 0;
  bool continued = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = std::min(text.find('\n', at), text.size());
    std::size_t end = next;
    if (end > at && text[end - 1] == '\r') --end;
    const std::string_view line = trim(text.substr(at, end - at));
    ++number;
    const bool whole = !continued && !line.ends_with('\\') && !line.starts_with('#');
    continued = line.ends_with('\\') && !line.starts_with('#');
    if (const auto one = whole ? parse(line) : std::nullopt) {
      SettingStatement statement;
      statement.line_begin = at;
      statement.members = 1;
      statement.shows_itself = true;
      statement.when_empty = {at, end, std::string(taken_out_mark()) + ": " + std::string(line)};
      SettingPlace place;
      place.name = std::string(one->name);
      place.value = one->value;
      place.line = number;
      place.name_begin = static_cast<std::size_t>(one->name.data() - text.data());
      place.cut = {at, at, ""};
      place.statement = found.statements.size();
      found.statements.push_back(std::move(statement));
      found.places.push_back(std::move(place));
    }
    at = next + 1;
  }
  return found;
}

}  // namespace

SettingLines find_in_assignments(std::string_view text) {
  return find_by_line(text, parse_assignment);
}

SettingLines find_in_pam(std::string_view text) {
  return find_by_line(text, parse_pam);
}

}  // namespace headroom::plan
