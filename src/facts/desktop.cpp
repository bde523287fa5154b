// SPDX-License-Identifier: Apache-2.0
#include "facts/desktop.h"

#include <algorithm>
#include <array>

namespace headroom::facts {

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
  // The kernel cuts a name after 15 bytes (TASK_COMM_LEN), the program's own name may be longer.
  constexpr std::size_t longest = 15;
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return command == name.substr(0, longest) || command == name;
  });
}

}  // namespace headroom::facts
