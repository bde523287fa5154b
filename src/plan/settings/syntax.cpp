// SPDX-License-Identifier: Apache-2.0
#include "plan/settings/setting_lines.h"

namespace headroom::plan {
namespace {

bool has(std::string_view path, std::string_view part) {
  return path.find(part) != std::string_view::npos;
}

bool is_compose(std::string_view name) {
  const bool yaml = name.ends_with(".yml") || name.ends_with(".yaml");
  return yaml && (name.starts_with("compose") || name.starts_with("docker-compose") ||
                  name.starts_with("podman-compose"));
}

bool is_shell(std::string_view path, std::string_view name) {
  for (const char* one : {".bashrc", ".profile", ".bash_profile", ".bash_login", ".zshrc",
                          ".zshenv", ".zprofile", ".xprofile", ".xsessionrc", "bash.bashrc",
                          "bashrc", "profile", "zshenv", "zshrc", "zprofile"}) {
    if (name == one) return true;
  }
  return has(path, "/profile.d/") || name.ends_with(".sh") || name.ends_with(".bash") ||
         name.ends_with(".zsh");
}

}  // namespace

SettingSyntax syntax_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name == "fish_variables") return SettingSyntax::fish_universal;
  if (name.ends_with(".fish")) return SettingSyntax::fish;
  if (name == ".pam_environment" || name == "pam_env.conf") return SettingSyntax::pam;
  if (is_compose(name)) return SettingSyntax::compose;
  if (name.starts_with("Dockerfile") || name.starts_with("Containerfile")) {
    return SettingSyntax::dockerfile;
  }
  if (name.ends_with(".container") || has(path, ".container.d/")) return SettingSyntax::quadlet;
  const bool unit = name.ends_with(".service") || name.ends_with(".slice") ||
                    name.ends_with(".scope") || name.ends_with(".socket");
  const bool manager = name.ends_with(".conf") && has(path, "/systemd/");
  if (unit || manager) return SettingSyntax::unit;
  return is_shell(path, name) ? SettingSyntax::shell : SettingSyntax::assignments;
}

facts::Scope scope_of(std::string_view path) {
  switch (syntax_of(path)) {
    case SettingSyntax::unit:
      return facts::Scope::unit;
    case SettingSyntax::quadlet:
      return facts::Scope::quadlet;
    case SettingSyntax::shell:
    case SettingSyntax::fish:
    case SettingSyntax::fish_universal:
      return path.starts_with("/etc/") ? facts::Scope::profile : facts::Scope::shell;
    case SettingSyntax::pam:
      return facts::Scope::environment_file;
    case SettingSyntax::assignments: {
      const bool login = path == "/etc/environment" || has(path, "/environment.d/");
      return login ? facts::Scope::environment_file : facts::Scope::given;
    }
    case SettingSyntax::compose:
    case SettingSyntax::dockerfile:
      break;
  }
  return facts::Scope::given;
}

}  // namespace headroom::plan
