// SPDX-License-Identifier: Apache-2.0
#include "facts/environment.h"

#include <algorithm>

#include "base/text.h"
#include "facts/environment_lines.h"

namespace headroom::facts {
namespace {

// Only what is set is kept as the text: the rest of a line may hold secrets.
Setting make_setting(std::string name, std::string value, const Source& place) {
  Setting setting;
  setting.source = {place.path, place.line, name + "=" + value};
  setting.name = std::move(name);
  setting.value = std::move(value);
  return setting;
}

}  // namespace

std::vector<Setting> parse_snippet(const Text& text, Scope scope,
                                   const std::vector<std::string>& boot_words) {
  if (!text) return {};
  if (text->find('\0') != std::string::npos) return parse_environ(text, scope, 0);
  SnippetReader reader(text.source().path, boot_words);
  for (const LogicalLine& line : join_continued_lines(*text)) reader.read(line);
  auto settings = reader.finish();
  for (Setting& setting : settings) {
    setting.scope = scope;
    if (scope == Scope::environment_file) setting.exported = true;
  }
  return settings;
}

std::vector<Setting> parse_environ(const Text& text, Scope scope, std::uint64_t pid) {
  std::vector<Setting> settings;
  if (!text) return settings;
  for (const std::string_view entry : split(*text, '\0')) {
    const std::size_t name = assigned_name_length(entry);
    if (name == 0) continue;
    Setting setting =
        make_setting(std::string(entry.substr(0, name)), std::string(entry.substr(name + 1)),
                     Source{text.source().path, 0, ""});
    setting.scope = scope;
    setting.pid = pid;
    settings.push_back(std::move(setting));
  }
  return settings;
}

std::vector<Setting> parse_unit(const Text& text, Scope scope) {
  if (!text) return {};
  SnippetReader reader(text.source().path, {});
  for (const LogicalLine& line : join_continued_lines(*text)) {
    if (is_unit_line(line.text)) reader.read(line);
  }
  auto settings = reader.finish();
  for (Setting& setting : settings) {
    setting.scope = scope;
    setting.exported = true;
  }
  return settings;
}

Setting to_setting(const ModuleOption& option) {
  const bool boot = option.source.path == "/proc/cmdline";
  Setting setting = make_setting(option.module + "." + option.key, option.value, option.source);
  setting.source.text = option.source.text;
  setting.scope = boot ? Scope::boot : Scope::modprobe;
  setting.form = boot ? Form::boot : Form::modprobe;
  return setting;
}

std::vector<const Setting*> Environment::settings_of(std::string_view name) const {
  std::vector<const Setting*> found;
  for (const Setting& setting : settings) {
    if (setting.name == name && setting.exported) found.push_back(&setting);
  }
  return found;
}

bool holds_for_all(const Setting& setting) {
  return setting.scope != Scope::unit && setting.scope != Scope::quadlet &&
         setting.scope != Scope::process;
}

std::string_view to_string(Scope scope) {
  switch (scope) {
    case Scope::shell:
      return "shell";
    case Scope::process:
      return "process";
    case Scope::environment_file:
      return "environment-file";
    case Scope::profile:
      return "profile";
    case Scope::container:
      return "container";
    case Scope::unit:
      return "unit";
    case Scope::quadlet:
      return "quadlet";
    case Scope::modprobe:
      return "modprobe";
    case Scope::boot:
      return "boot";
    case Scope::given:
      break;
  }
  return "given";
}

}  // namespace headroom::facts
