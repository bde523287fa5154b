// SPDX-License-Identifier: Apache-2.0
// Names in texts and paths, and which file is redacted how; the formats are in formats.cpp and
// options.cpp.
#include "redact/redactor.h"

#include <algorithm>

#include "base/text.h"
#include "redact/words.h"

namespace headroom::redact {
namespace {

// Names that many machines and accounts have, and stand-ins themselves.
constexpr std::array<std::string_view, 34> common{
    "localhost", "localdomain", "host",   "domain",   "local",       "lan",    "home",
    "root",      "user",        "admin",  "linux",    "ubuntu",      "debian", "fedora",
    "arch",      "archlinux",   "nixos",  "steamos",  "steamdeck",   "deck",   "server",
    "desktop",   "laptop",      "docker", "amd",      "gpu",         "rocm",   "python",
    "test",      "default",     "none",   "redacted", "workstation", "pc"};
constexpr std::size_t shortest = 3;  // Two letters stand for too much else.

bool is_common(const std::string& name) {
  return std::find(common.begin(), common.end(), to_lower(name)) != common.end();
}

bool is_number(std::string_view name) {
  return name.find_first_not_of("0123456789.") == std::string_view::npos;
}

// What can be looked for anywhere in a text without meeting something else.
std::vector<std::string> telling(const std::vector<std::string>& names,
                                 const std::set<std::string>& vocabulary) {
  std::vector<std::string> kept;
  for (const std::string& name : names) {
    const bool told =
        name.size() < shortest || is_common(name) || is_number(name) || vocabulary.contains(name);
    if (!told && std::find(kept.begin(), kept.end(), name) == kept.end()) kept.push_back(name);
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  return kept;
}

bool is_under(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && path.substr(folder.size()).starts_with('/');
}

// The name below proc/PID, or nothing: "environ" of "proc/7/environ".
std::string_view name_in_process(std::string_view path) {
  if (!path.starts_with("proc/")) return {};
  const auto parts = split(path, '/');
  const bool is_process = parts.size() >= 3 && (parse_u64(parts[1]) || parts[1] == "self");
  return is_process ? parts.back() : std::string_view{};
}

bool is_shell_file(std::string_view path, std::string_view name) {
  return path == "etc/environment" || is_under(path, "etc/profile.d") || name.ends_with(".sh") ||
         path.find("/environment.d/") != std::string_view::npos || name == ".profile" ||
         name == "profile" || name.ends_with("bashrc") || name.ends_with("zshrc") ||
         name == ".bash_profile" || name == ".zprofile" || name == ".env";
}

// Of systemd and of Podman's quadlets.
bool is_unit(std::string_view path, std::string_view name) {
  return name.ends_with(".service") || name.ends_with(".container") ||
         path.find("/systemd/") != std::string_view::npos;
}

bool may_hold_secrets(std::string_view path) {
  static constexpr std::array<std::string_view, 8> folders{"etc", "home", "root", "opt",
                                                           "run", "var",  "srv",  "mnt"};
  return name_in_process(path).starts_with("mount") || path == "proc/mounts" ||
         std::any_of(folders.begin(), folders.end(),
                     [&](std::string_view folder) { return is_under(path, folder); });
}

}  // namespace

std::vector<std::string> parts_of_host_name(std::string_view name) {
  name = trim(name);
  std::vector<std::string> parts{std::string(name)};
  const std::size_t dot = name.find('.');
  if (dot != std::string_view::npos) {
    parts.emplace_back(name.substr(dot + 1));
    parts.emplace_back(name.substr(0, dot));
  }
  return telling(parts, {});
}

Redactor::Redactor(const Identity& identity)
    : users_(telling(identity.user_names, identity.vocabulary)) {
  std::vector<std::string> hosts;
  for (const std::string& name : identity.host_names) {
    for (std::string& part : parts_of_host_name(name)) hosts.push_back(std::move(part));
  }
  hosts_ = telling(hosts, identity.vocabulary);
}

std::string Redactor::replaced(Kind kind, const std::string& was, const std::string& is) {
  if (was != is) ++counts_[static_cast<std::size_t>(kind)];
  return is;
}

std::string Redactor::withheld(Kind kind, const std::string& was) {
  return replaced(kind, was, std::string(redacted));
}

std::string Redactor::names(std::string_view text) {
  std::string result(text);
  for (const std::string& host : hosts_) {
    result = replace_word(result, host, [&](const std::string& was) {
      return replaced(Kind::host_name, was, stand_ins_.host());
    });
  }
  const auto user = [&](const std::string& was) {
    return replaced(Kind::user_name, was, stand_ins_.user(was));
  };
  result = replace_home_names(result, user);
  for (const std::string& name : users_) result = replace_word(result, name, user);
  return result;
}

std::string Redactor::text(std::string_view text) {
  return replace_uuids(names(text), [&](const std::string& was) {
    return replaced(Kind::uuid, was, stand_ins_.uuid(was));
  });
}

std::string Redactor::report(std::string_view original) {
  std::string result = text(original);
  for (const auto& [was, is] : stand_ins_.known_serials()) {
    result = replace_word(result, was, [&](const std::string&) { return is; });
  }
  return result;
}

// In brackets, so that no letter of it joins what stands beside it to something like an address.
std::string Redactor::addresses(std::string_view text) {
  return replace_addresses(text, [&](const std::string& was) {
    return replaced(Kind::address, was, "[" + std::string(redacted) + "]");
  });
}

bool Redactor::is_open_file(std::string_view path) {
  const auto parts = split(path, '/');
  return parts.size() == 4 && parts[0] == "proc" && (parts[2] == "fd" || parts[2] == "fdinfo");
}

std::optional<std::string> Redactor::target(std::string_view path, std::string_view target) {
  if (is_open_file(path) && !is_under(target, "/dev/dri") && target != "/dev/kfd") {
    return std::nullopt;
  }
  return text(target);
}

std::string Redactor::file(std::string_view path, std::string_view bytes) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::string_view of_process = name_in_process(path);
  if (of_process == "cmdline") return command_line(bytes);
  if (of_process == "environ" || path == ".headroom/environment") return environment(bytes);
  if (path == "proc/cmdline") return boot_line(bytes);
  if (path == "etc/hostname" || path == "proc/sys/kernel/hostname") {
    return replaced(Kind::host_name, std::string(bytes), stand_ins_.host() + "\n");
  }
  if (name == "shadow" || name == "gshadow") {
    return bytes.empty() ? "" : withheld(Kind::secret, std::string(bytes));
  }
  if (path.find("modprobe.d/") != std::string_view::npos) return modprobe(bytes);
  if (is_unit(path, name)) return unit(bytes);
  if (is_shell_file(path, name)) return shell(bytes);
  if (path == "etc/passwd") return accounts(bytes);
  std::string result = serial_file(name, bytes);
  if (result == bytes) result = serial_lines(result);
  result = text(result);
  if (path == "etc/hosts" || path == "etc/resolv.conf") result = addresses(result);
  if (!may_hold_secrets(path)) return result;
  return replace_secrets(result,
                         [&](const std::string& was) { return withheld(Kind::secret, was); });
}

}  // namespace headroom::redact
