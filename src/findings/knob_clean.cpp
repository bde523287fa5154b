// SPDX-License-Identifier: Apache-2.0
// clean_lines() writes the settings that remain after the audit's advice is followed, each in the
// form of its place.
#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "findings/knob_audit.h"

namespace headroom::findings {
namespace {

using facts::Form;

// Quotes a value, unless a shell reads it unchanged without quotes.
std::string quoted(const std::string& value) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:/=+@%";
  if (!value.empty() && value.find_first_not_of(plain) == std::string::npos) return value;
  return "\"" + value + "\"";
}

std::string written(Form form, const std::string& name, const std::string& value) {
  switch (form) {
    case Form::shell:
      return fmt::format("export {}={}", name, quoted(value));
    case Form::dockerfile:
      return fmt::format("ENV {}={}", name, quoted(value));
    case Form::compose:
      return fmt::format("{}: \"{}\"", name, value);
    case Form::compose_list:
      return fmt::format("- {}={}", name, value);
    case Form::unit:
      return fmt::format("Environment=\"{}={}\"", name, value);
    case Form::option:
      return fmt::format("--env {}={}", name, quoted(value));
    case Form::bare:
    case Form::modprobe:
    case Form::boot:
      break;
  }
  return fmt::format("{}={}", name, quoted(value));
}

// Adds parameters. Those of one module share a line in modprobe.d, and those of the command line
// share one as well.
void add_parameters(const std::vector<Judgement>& judged, std::vector<std::string>& lines) {
  std::map<std::string, std::string> modules;
  std::string boot;
  for (const Judgement& one : judged) {
    if (!one.remains) continue;
    const auto& [name, value] = *one.remains;
    const std::size_t dot = name.find('.');
    if (one.setting.form == Form::modprobe && dot != std::string::npos) {
      modules[name.substr(0, dot)] += fmt::format(" {}={}", name.substr(dot + 1), value);
    } else if (one.setting.form == Form::boot) {
      boot += (boot.empty() ? "" : " ") + name + "=" + value;
    }
  }
  for (const auto& [module, parameters] : modules) {
    lines.push_back(fmt::format("options {}{}", module, parameters));
  }
  if (boot.empty()) return;
  lines.emplace_back("# on the kernel command line:");
  lines.push_back(boot);
}

// Returns the remaining options of the allocator variable at `at`.
std::string options_of(const std::vector<Judgement>& judged, std::size_t at) {
  std::vector<std::string> options;
  for (std::size_t i = at + 1; i < judged.size() && judged[i].is_option(); ++i) {
    if (!judged[i].remains) continue;
    const std::string& name = judged[i].remains->first;
    options.push_back(name.substr(name.find(':') + 1) + ":" + judged[i].remains->second);
  }
  return join(options, ",");
}

}  // namespace

std::vector<std::string> clean_lines(const std::vector<Judgement>& judged) {
  std::vector<std::string> lines;
  bool shell = false;
  for (const Judgement& one : judged) shell = shell || one.setting.form == Form::shell;
  for (std::size_t i = 0; i < judged.size(); ++i) {
    const Judgement& one = judged[i];
    const Form form = one.setting.form;
    if (!one.remains || one.is_option() || form == Form::modprobe || form == Form::boot) continue;
    const auto& [name, given] = *one.remains;
    const bool has_options = i + 1 < judged.size() && judged[i + 1].is_option();
    const std::string value = has_options ? options_of(judged, i) : given;
    if (has_options && value.empty()) continue;
    const bool as_export = shell && form == Form::bare;
    lines.push_back(written(as_export ? Form::shell : form, name, value));
  }
  add_parameters(judged, lines);
  return lines;
}

}  // namespace headroom::findings
