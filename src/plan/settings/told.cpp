// SPDX-License-Identifier: Apache-2.0
#include "plan/settings/told.h"

#include <fmt/format.h>

#include "base/text.h"

namespace headroom::plan {
namespace {

// "SETUVAR --export NAME:10\x2e3\x2e0", as fish keeps universal variables.
std::vector<facts::Setting> find_universal(const facts::ConfigFile& file) {
  std::vector<facts::Setting> settings;
  int number = 0;
  for (const std::string_view line : split_lines(file.text)) {
    ++number;
    const auto words = split_words(line);
    if (words.size() < 2 || words.front() != "SETUVAR" || words[1] != "--export") continue;
    const std::size_t colon = words.back().find(':');
    if (colon == std::string_view::npos) continue;
    facts::Setting setting;
    setting.name = std::string(words.back().substr(0, colon));
    const std::string_view raw = words.back().substr(colon + 1);
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const auto code =
          raw.substr(i).starts_with("\\x") ? parse_hex(raw.substr(i + 2, 2)) : std::nullopt;
      setting.value += code ? static_cast<char>(*code) : raw[i];
      if (code) i += 3;
    }
    setting.source = {file.path, number, setting.name + "=" + setting.value};
    setting.scope = facts::Scope::shell;
    settings.push_back(std::move(setting));
  }
  return settings;
}

}  // namespace

std::vector<facts::Setting> settings_told(const facts::ConfigFile& file, SettingSyntax syntax) {
  const facts::Text text(file.text, facts::Source{file.path, 0, ""});
  const facts::Scope scope = scope_of(file.path);
  switch (syntax) {
    case SettingSyntax::fish_universal:
      return find_universal(file);
    case SettingSyntax::unit:
    case SettingSyntax::quadlet:
      return facts::parse_unit(text, scope);
    default:
      return facts::parse_snippet(text, scope);
  }
}

std::string told_of(const facts::Setting& setting, SettingSyntax syntax) {
  const std::string shown = setting.name + "=" + setting.value;
  const std::string place = fmt::format("{} (line {})", setting.source.path, setting.source.line);
  switch (syntax) {
    case SettingSyntax::fish_universal:
      return fmt::format(
          "{} is a universal variable of fish, kept in {}. In fish, type:  set -eU {}",
          setting.name, setting.source.path, setting.name);
    case SettingSyntax::dockerfile:
      return fmt::format("Remove {} from {} and build the image again.", shown, place);
    case SettingSyntax::unit:
    case SettingSyntax::quadlet:
      return fmt::format(
          "Remove {} from the command in {}. Then run systemctl daemon-reload and restart the "
          "service.",
          shown, place);
    default:
      return fmt::format("Remove {} from {} by hand. An automatic edit there could break the file.",
                         shown, place);
  }
}

std::string told_of_vendor(const std::string& path, const std::string& name) {
  if (path.starts_with("/nix/")) {
    return fmt::format(
        "{} is set in {}, which NixOS generates. Remove it from configuration.nix "
        "(environment.sessionVariables, environment.variables or the service's environment), then "
        "run: sudo nixos-rebuild switch",
        name, path);
  }
  if (path.starts_with("/usr/share/containers/systemd/")) {
    const std::string file = path.substr(path.rfind('/') + 1);
    return fmt::format(
        "{} is set in {}, which an update replaces. Copy the file to /etc/containers/systemd/{} "
        "and remove the setting there.",
        name, path, file);
  }
  return fmt::format(
      "{} is set in {}, which belongs to a package. Ask for a version without it, or remove it "
      "after every update.",
      name, path);
}

}  // namespace headroom::plan
