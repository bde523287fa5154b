// SPDX-License-Identifier: Apache-2.0
#include "run/training_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "base/text.h"
#include "yaml/tree.h"

namespace headroom::run {
namespace {

bool is_option(std::string_view word) {
  return word.size() > 2 && word.starts_with("--") && word[2] != '-' && word[2] != '=';
}

// The whole of the text as one number.
template <class T>
Result<Json> number_in(const GivenArgument& given, std::string_view wanted) {
  const std::string& text = given.values.front();
  T number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc() || end != text.data() + text.size()) return wrong_value(given, wanted);
  return Json(number);
}

Result<Json> names_in(const GivenArgument& given) {
  std::vector<std::string> names;
  for (const std::string& value : given.values)
    for (const auto name : split(value, ','))
      if (const auto bare = trim(name); !bare.empty()) names.emplace_back(bare);
  if (names.empty()) return wrong_value(given, "names of modules");
  if (names.size() == 1 && (names.front() == "all-linear" || names.front() == "all"))
    return Json("all-linear");
  return Json(names);
}

std::optional<bool> truth_of(std::string_view word) {
  const std::string text = to_lower(word);
  if (text == "true" || text == "1" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "0" || text == "no" || text == "off") return false;
  return std::nullopt;
}

Result<Json> yes_or_no(const GivenArgument& given) {
  const auto truth = truth_of(given.values.empty() ? "true" : given.values.front());
  if (!truth) return wrong_value(given, "True or False");
  return Json(*truth);
}

// YAML's flow style has both, {"rope": false} and {'rope': False}.
Result<Json> table_in(const GivenArgument& given) {
  constexpr std::string_view wanted = "a table of True and False";
  const auto root = parse_yaml(given.values.front());
  if (!root || root->kind != YamlNode::Kind::map) return wrong_value(given, wanted);
  Json table = Json::object();
  for (const YamlEntry& entry : root->entries) {
    const bool plain = entry.value.kind == YamlNode::Kind::scalar && entry.value.plain;
    const auto truth = plain ? truth_of(entry.value.value) : std::nullopt;
    if (!truth) return wrong_value(given, wanted);
    table[entry.key.value] = *truth;
  }
  return table;
}

}  // namespace

std::string GivenArgument::place() const {
  return line == 0 ? option : fmt::format("{} (line {})", option, line);
}

std::string bare_name(std::string_view option) {
  const std::size_t begin = option.find_first_not_of('-');
  std::string name(option.substr(std::min(begin, option.size())));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::vector<GivenArgument> split_arguments(const std::vector<std::string>& words,
                                           std::size_t from) {
  std::vector<GivenArgument> all;
  for (std::size_t i = from; i < words.size(); ++i) {
    if (is_option(words[i])) {
      const std::size_t equals = words[i].find('=');
      all.push_back({words[i].substr(0, equals), {}});
      if (equals != std::string::npos) all.back().values.push_back(words[i].substr(equals + 1));
    } else if (!all.empty()) {
      all.back().values.push_back(words[i]);
    }
  }
  return all;
}

Error wrong_value(const GivenArgument& given, std::string_view wanted) {
  const std::string found =
      given.values.empty() ? "none" : fmt::format("\"{}\"", join(given.values, " "));
  return {Errc::invalid, fmt::format("{}: expected {}, found {}", given.place(), wanted, found),
          given.line > 0 ? "give headroom's own option for it, which wins over the log"
                         : "write the command as the program takes it, behind headroom plan --"};
}

Result<Json> value_of(const GivenArgument& given, ArgumentKind kind) {
  if (kind == ArgumentKind::words) return names_in(given);
  if (given.values.size() > 1) return wrong_value(given, "one value");
  if (kind == ArgumentKind::yes) return yes_or_no(given);
  if (given.values.empty() || given.values.front().empty()) return wrong_value(given, "a value");
  if (kind == ArgumentKind::number) return number_in<std::uint64_t>(given, "a whole number");
  if (kind == ArgumentKind::real) return number_in<double>(given, "a number");
  if (kind == ArgumentKind::table) return table_in(given);
  return Json(given.values.front());
}

}  // namespace headroom::run
