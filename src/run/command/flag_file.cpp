// SPDX-License-Identifier: Apache-2.0
#include "run/command/flag_file.h"

#include <algorithm>

#include "base/document.h"
#include "base/text.h"
#include "machine/user_files.h"

namespace headroom::run {
namespace {

using supervisor::FileValues;

constexpr std::size_t longest_file = std::size_t{4} << 20U;

std::optional<FileValues> from_json(const Json& value) {
  if (!value.is_object()) return std::nullopt;
  FileValues values;
  for (const auto& [key, one] : value.items()) {
    if (one.is_string()) values[key] = one.get<std::string>();
    if (one.is_number() || one.is_boolean()) values[key] = one.dump();
  }
  return values;
}

std::string unquote(std::string_view text) {
  const bool is_quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                         text.back() == text.front();
  return std::string(is_quoted ? text.substr(1, text.size() - 2) : text);
}

FileValues from_yaml(std::string_view text) {
  FileValues values;
  for (const std::string_view line : split_lines(text)) {
    const bool is_nested = line.empty() || line.front() == ' ' || line.front() == '\t' ||
                           line.front() == '-' || line.front() == '#';
    const std::size_t colon = line.find(':');
    if (is_nested || colon == std::string_view::npos) continue;
    std::string_view value = line.substr(colon + 1);
    value = trim(value.substr(0, std::min(value.find(" #"), value.size())));
    if (!value.empty()) values[std::string(trim(line.substr(0, colon)))] = unquote(value);
  }
  return values;
}

}  // namespace

std::optional<FileValues> parse_flag_file(std::string_view name, std::string_view text) {
  if (name.ends_with(".json")) {
    const auto json = parse_json(text);
    return json ? from_json(*json) : std::nullopt;
  }
  if (name.ends_with(".toml")) {
    const auto document = parse_toml(text);
    return document ? from_json(document->value) : std::nullopt;
  }
  return from_yaml(text);
}

std::optional<FileValues> read_flag_file(const knowledge::TrainerFlags& flags,
                                         const std::vector<std::string>& argv) {
  const auto command = knowledge::recognise(flags, argv);
  if (!command || !command->file) return std::nullopt;
  const auto text = machine::read_file(*command->file, longest_file);
  return text ? parse_flag_file(*command->file, *text) : std::nullopt;
}

}  // namespace headroom::run
