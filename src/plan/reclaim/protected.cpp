// SPDX-License-Identifier: Apache-2.0
#include "plan/reclaim/protected.h"

#include <algorithm>
#include <array>

namespace headroom::plan {
namespace {

// The kernel cuts a name after 15 bytes, the program's own name may be longer.
bool is_same(std::string_view command, std::string_view name) {
  constexpr std::size_t longest = 15;
  return command == name || (name.size() > longest && command == name.substr(0, longest));
}

template <std::size_t N>
bool is_one_of(std::string_view command, const std::array<std::string_view, N>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return is_same(command, name); });
}

}  // namespace

bool is_desktop(std::string_view command) {
  static constexpr std::array<std::string_view, 46> names{"X",
                                                          "Xorg",
                                                          "Xorg.bin",
                                                          "Xwayland",
                                                          "Xvnc",
                                                          "gnome-shell",
                                                          "gnome-session-binary",
                                                          "gnome-remote-desktop-daemon",
                                                          "mutter",
                                                          "muffin",
                                                          "cinnamon",
                                                          "marco",
                                                          "mate-session",
                                                          "kwin",
                                                          "kwin_wayland",
                                                          "kwin_wayland_wrapper",
                                                          "kwin_x11",
                                                          "plasmashell",
                                                          "plasma_session",
                                                          "ksmserver",
                                                          "xfwm4",
                                                          "xfce4-session",
                                                          "lxqt-session",
                                                          "startplasma-wayland",
                                                          "sway",
                                                          "Hyprland",
                                                          "weston",
                                                          "wayfire",
                                                          "river",
                                                          "niri",
                                                          "labwc",
                                                          "cage",
                                                          "cosmic-comp",
                                                          "cosmic-session",
                                                          "gamescope",
                                                          "gamescope-wl",
                                                          "gamescope-session",
                                                          "gdm",
                                                          "gdm3",
                                                          "gdm-wayland-session",
                                                          "gdm-x-session",
                                                          "sddm",
                                                          "sddm-helper",
                                                          "lightdm",
                                                          "greetd",
                                                          "plymouthd"};
  return is_one_of(command, names);
}

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
  if (is_one_of(held.command, vital)) return Protection::login;
  if (is_desktop(held.command) && !subject.options.include_desktop) return Protection::desktop;
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
