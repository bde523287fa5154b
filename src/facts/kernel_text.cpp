// SPDX-License-Identifier: Apache-2.0
#include "facts/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace headroom::facts {
namespace {

constexpr std::uint64_t page_bytes = 4096;

Fact<Bytes> parse_kib(const Text& text, std::string_view key) {
  const Text line = find_line(text, key);
  if (!line) return line.absent<Bytes>();
  const auto words = split_words(*line);
  const bool in_kib = words.size() == 2 && words[1] == "kB";
  const std::uint64_t kib = in_kib ? parse_u64(words[0]).value_or(UINT64_MAX) : UINT64_MAX;
  if (kib > UINT64_MAX / 1024) return {Missing{Why::not_understood, *line}, line.source()};
  return {Bytes{kib * 1024}, line.source()};
}

std::string_view unquote(std::string_view value) {
  const bool quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
                      value.back() == value.front();
  return quoted ? value.substr(1, value.size() - 2) : value;
}

// Words between blanks; blanks inside double quotes belong to the word, the quotes do not.
std::vector<std::string> split_quoted(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  const auto finish = [&] {
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (const char c : text) {
    if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == ' ' || c == '\t' || c == '\n')) {
      finish();
    } else {
      word += c;
    }
  }
  finish();
  return words;
}

// The kernel takes '-' and '_' for the same in names.
std::string parameter_name(std::string_view name) {
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), '-', '_');
  return plain;
}

}  // namespace

Meminfo parse_meminfo(const Text& text) {
  return {parse_kib(text, "MemTotal"), parse_kib(text, "MemAvailable"),
          parse_kib(text, "GPUActive"), parse_kib(text, "GPUReclaim")};
}

Text parse_os_release(const Text& text, std::string_view key) {
  if (!text) return text;
  int number = 0;
  for (const std::string_view line : split_lines(*text)) {
    ++number;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || trim(line.substr(0, equals)) != key) continue;
    return {std::string(unquote(trim(line.substr(equals + 1)))),
            Source{text.source().path, number, std::string(line)}};
  }
  return {Missing{Why::not_present, "no line \"" + std::string(key) + "\""}, text.source()};
}

std::optional<KernelVersion> parse_kernel_version(std::string_view release) {
  KernelVersion version{};
  for (std::size_t part = 0; part < version.size(); ++part) {
    const std::size_t digits = std::min(release.find_first_not_of("0123456789"), release.size());
    const auto number = parse_u64(release.substr(0, digits));
    if (!number || *number > 100000) {
      if (part < 2) return std::nullopt;
      break;
    }
    version[part] = static_cast<unsigned>(*number);
    release.remove_prefix(digits);
    if (!release.starts_with('.')) {
      if (part == 0) return std::nullopt;
      break;
    }
    release.remove_prefix(1);
  }
  return version;
}

std::vector<ModuleOption> parse_cmdline(const Text& text) {
  std::vector<ModuleOption> options;
  if (!text) return options;
  for (const std::string& word : split_quoted(*text)) {
    if (word == "--") break;  // What follows is for init.
    const std::size_t equals = word.find('=');
    const std::size_t dot = word.find('.');
    if (equals == std::string::npos || dot == std::string::npos || dot > equals) continue;
    options.push_back({parameter_name(word.substr(0, dot)),
                       parameter_name(word.substr(dot + 1, equals - dot - 1)),
                       word.substr(equals + 1), Source{text.source().path, 1, word}});
  }
  return options;
}

std::vector<ModuleOption> parse_modprobe(const Text& text) {
  constexpr std::size_t longest_shown = 400;
  std::vector<ModuleOption> options;
  if (!text) return options;
  std::string statement;
  int number = 0;
  for (const std::string_view line : split_lines(*text)) {
    ++number;
    statement += line;
    if (statement.ends_with('\\')) {
      statement.back() = ' ';
      continue;
    }
    const auto words = split_quoted(statement);
    const std::string whole(trim(statement));
    statement.clear();
    if (words.size() < 3 || words[0] != "options") continue;
    for (std::size_t i = 2; i < words.size(); ++i) {
      const std::size_t equals = words[i].find('=');
      if (equals == std::string::npos) continue;
      // Of a line that nobody would read, what it says of this setting.
      std::string shown =
          whole.size() <= longest_shown ? whole : fmt::format("options {} {}", words[1], words[i]);
      options.push_back({parameter_name(words[1]), parameter_name(words[i].substr(0, equals)),
                         words[i].substr(equals + 1),
                         Source{text.source().path, number, std::move(shown)}});
    }
  }
  return options;
}

Fact<std::vector<std::string>> parse_module_users(const Text& text, std::string_view module) {
  const Text line = find_line(text, module);
  if (!line) return line.absent<std::vector<std::string>>();
  std::vector<std::string> users;
  const auto words = split_words(*line);  // size, references, users, state, address
  if (words.size() < 3) return {Missing{Why::not_understood, *line}, line.source()};
  for (const std::string_view user : split(words[2], ',')) {
    if (!user.empty() && user != "-") users.emplace_back(user);
  }
  return {users, line.source()};
}

Fact<Bytes> parse_pages_limit(const Text& text) {
  const auto pages = parse_number(text);
  if (!pages) return pages.absent<Bytes>();
  if (*pages > UINT64_MAX / page_bytes) {
    return {Missing{Why::not_understood, pages.source().text}, pages.source()};
  }
  return {Bytes{*pages * page_bytes}, pages.source()};
}

Text parse_environment(const Text& text, std::string_view variable) {
  if (!text) return text;
  const char separator = text->find('\0') != std::string::npos ? '\0' : '\n';
  int number = 0;
  for (std::string_view line : split(*text, separator)) {
    ++number;
    line = trim(line);
    if (line.starts_with("export ")) line = trim(line.substr(7));
    if (!line.starts_with(variable) || line.substr(variable.size(), 1) != "=") continue;
    return {std::string(unquote(line.substr(variable.size() + 1))),
            Source{text.source().path, separator == '\n' ? number : 0, std::string(line)}};
  }
  return {Missing{Why::not_present, std::string(variable) + " is not set there"}, text.source()};
}

}  // namespace headroom::facts
