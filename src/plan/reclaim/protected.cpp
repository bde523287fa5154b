// SPDX-License-Identifier: Apache-2.0
#include "plan/reclaim/protected.h"

#include <algorithm>
#include <array>

#include "facts/desktop.h"

namespace headroom::plan {

bool is_vital_unit(std::string_view unit) {
  static constexpr std::array<std::string_view, 19> names{
      "ssh.service",      "sshd.service",
      "dbus.service",     "dbus-broker.service",
      "gdm.service",      "gdm3.service",
      "sddm.service",     "lightdm.service",
      "greetd.service",   "display-manager.service",
      "docker.service",   "containerd.service",
      "crio.service",     "kubelet.service",
      "k3s.service",      "slurmd.service",
      "libvirtd.service", "NetworkManager.service",
      "polkit.service"};
  return unit.starts_with("systemd-") || unit.starts_with("getty@") || unit.starts_with("user@") ||
         std::find(names.begin(), names.end(), unit) != names.end();
}

Protection protection_of(const Held& held, const ReclaimSubject& subject) {
  static constexpr std::array<std::string_view, 5> vital{"systemd", "init", "sshd", "sshd-session",
                                                         "login"};
  if (held.pid <= 1) return Protection::first_process;
  const auto& line = subject.occupancy.own_line;
  if (std::find(line.begin(), line.end(), held.pid) != line.end()) return Protection::own_line;
  if (std::find(vital.begin(), vital.end(), held.command) != vital.end()) return Protection::login;
  if (facts::is_desktop(held.command) && !subject.options.include_desktop)
    return Protection::desktop;
  return Protection::none;
}

std::string_view to_string(Protection protection) {
  switch (protection) {
    case Protection::first_process:
      return "it is the first process; the machine cannot run without it";
    case Protection::own_line:
      return "this command was started from it";
    case Protection::login:
      return "the machine, or a login, depends on it";
    case Protection::desktop:
      return "it is part of the desktop";
    case Protection::none:
      break;
  }
  return "";
}

}  // namespace headroom::plan
