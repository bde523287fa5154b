// SPDX-License-Identifier: Apache-2.0
// The menu that grub.cfg describes: entries and submenus, as grub-mkconfig writes them (GRUB
// manual, "menuentry", "submenu"), and which of them starts when nobody chooses.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

struct MenuEntry {
  std::string title;
  std::string id;
  std::vector<std::string> options;  // "--class", "ubuntu", "--unrestricted"; no id.
  std::string body;                  // Between the braces, as written.
  bool submenu = false;
  std::vector<MenuEntry> entries;  // Of a submenu.
};
std::vector<MenuEntry> parse_grub_menu(std::string_view config);

// What `default` is set to where no entry was chosen for this boot: "0", "${saved_entry}",
// "Advanced options for Ubuntu>Ubuntu, with Linux 6.14.0-37-generic".
std::optional<std::string> find_default_choice(std::string_view config);

// The entry that such a choice means: number, title or id, through submenus with ">" (a ">" that is
// meant is written ">>"). nullptr where it means none, or a submenu.
const MenuEntry* find_menu_entry(const std::vector<MenuEntry>& menu, std::string_view choice);

// The entry that starts when nobody chooses, by `default` and by what GRUB's environment block has
// saved; nullptr where that cannot be told.
const MenuEntry* find_default_entry(const facts::BootSetup& boot, std::string_view config,
                                    const std::vector<MenuEntry>& menu);

// What GRUB starts when nobody chooses, as it is written: a place in the menu, an id or a title.
// Empty means the first entry.
std::string find_default_name(const facts::BootSetup& boot);

// What the entry hands the kernel; nothing where no line of its body starts Linux.
std::optional<std::string> menu_command_line(std::string_view body);

// The body with the kernel's line edited; nothing where no line starts Linux. A "savedefault" goes:
// what is started for a trial must not become the default.
std::optional<std::string> edit_menu_body(std::string_view body, const ArgumentChange& change);

}  // namespace headroom::plan
