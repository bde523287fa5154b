// SPDX-License-Identifier: Apache-2.0
// GRUB's choice of an entry: what its variable `default` names, by ID, title or number, and ">" on
// the way into submenus (GRUB manual, "default").
#include <fmt/format.h>

#include "base/text.h"
#include "support/boot_entry.h"
#include "support/grub_script.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

const GrubMenuEntry* find_in(const std::vector<GrubMenuEntry>& menu, const std::string& name) {
  for (const GrubMenuEntry& entry : menu) {
    if (!entry.id.empty() && entry.id == name) return &entry;
  }
  for (const GrubMenuEntry& entry : menu) {
    if (entry.title == name) return &entry;
  }
  const auto number = parse_u64(name);
  return number && *number < menu.size() ? &menu[*number] : nullptr;
}

// What is named, else the first; in a submenu likewise.
const GrubMenuEntry* find_default(const std::vector<GrubMenuEntry>& top, std::string name) {
  const std::vector<GrubMenuEntry>* menu = &top;
  while (!menu->empty()) {
    const std::size_t at = name.find('>');
    const GrubMenuEntry* entry = find_in(*menu, name.substr(0, at));
    if (entry == nullptr) entry = &menu->front();
    if (entry->children.empty()) return entry;
    menu = &entry->children;
    name = at == std::string::npos ? "" : name.substr(at + 1);
  }
  return nullptr;
}

}  // namespace

Result<BootEntry> choose_with_grub(const fs::path& root, const Firmware& firmware) {
  const std::string inside = firmware.partition == "/" ? "" : firmware.partition;
  GrubMachine grub(root / firmware.partition.substr(1), firmware.writable);
  const std::string menu = firmware.menu.substr(inside.size());
  grub.variables["prefix"] = menu.substr(0, menu.find_last_of('/'));
  grub.variables["feature_menuentry_id"] = "y";
  HEADROOM_CHECK(grub.run_file(menu));
  const std::string wanted = grub.variables["default"];
  const GrubMenuEntry* entry = find_default(grub.menu(), wanted);
  if (entry == nullptr) return Error{Errc::not_found, "GRUB's menu is empty", ""};
  grub.run(entry->body);
  BootEntry chosen{entry->id.empty() ? entry->title : entry->id, entry->title, {}, {}, {}, {}};
  chosen.kernel = inside + grub.kernel;
  for (const std::string& image : grub.images) chosen.images.push_back(inside + image);
  chosen.command_line =
      std::string(trim(fmt::format("BOOT_IMAGE=(hd0,gpt2){} {}", grub.kernel, grub.arguments)));
  return chosen;
}

}  // namespace headroom::testing
