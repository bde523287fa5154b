// SPDX-License-Identifier: Apache-2.0
// systemd-boot's choice of an entry, in the order of systemd-boot(7) and loader.conf(5): the one
// for one boot, the default of the EFI variable, the default of loader.conf, the first. Counters
// ("NAME+LEFT-DONE.conf") are part of the name that patterns are held against.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "machine/user_files.h"
#include "support/boot_entry.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

struct LoaderEntry {
  std::string id;  // "arch+2.conf".
  std::string partition;
  fs::path file;
  std::string text;
  std::optional<std::uint64_t> left;  // Boots that are left; nullopt: not counted.
  std::uint64_t done = 0;

  std::string first(const char* key) const {
    const auto values = entry_values(text, key);
    return values.empty() ? "" : values.front();
  }
};

void read_counters(LoaderEntry& entry) {
  const std::string stem = fs::path(entry.id).stem().string();
  const std::size_t plus = stem.rfind('+');
  if (plus == std::string::npos) return;
  const std::string counters = stem.substr(plus + 1);
  const std::size_t dash = counters.find('-');
  const auto left = parse_u64(counters.substr(0, dash));
  const auto done = dash == std::string::npos ? std::optional<std::uint64_t>(0)
                                              : parse_u64(counters.substr(dash + 1));
  if (!left || !done) return;
  entry.left = left;
  entry.done = *done;
}

// Bad entries last; with a sort key first, by key, machine and newest version; then by name,
// highest first.
bool comes_before(const LoaderEntry& a, const LoaderEntry& b) {
  const bool a_is_bad = a.left == 0U;
  if (a_is_bad != (b.left == 0U)) return !a_is_bad;
  const std::string a_key = a.first("sort-key");
  const std::string b_key = b.first("sort-key");
  if (a_key.empty() != b_key.empty()) return !a_key.empty();
  if (a_key != b_key) return a_key < b_key;
  if (!a_key.empty()) {
    if (a.first("machine-id") != b.first("machine-id")) {
      return a.first("machine-id") < b.first("machine-id");
    }
    const int order = ::strverscmp(a.first("version").c_str(), b.first("version").c_str());
    if (order != 0) return order > 0;
  }
  return ::strverscmp(a.id.c_str(), b.id.c_str()) > 0;
}

std::vector<LoaderEntry> read_entries(const fs::path& root, const Firmware& firmware) {
  std::vector<LoaderEntry> entries;
  for (const std::string& partition : {firmware.partition, firmware.second}) {
    if (partition.empty()) continue;
    std::error_code none;
    for (const auto& found :
         fs::directory_iterator(root / partition.substr(1) / "loader/entries", none)) {
      const std::string name = found.path().filename().string();
      const auto text = machine::read_file(found.path().string());
      if (!name.ends_with(".conf") || name.starts_with('.') || name.starts_with("auto-") || !text) {
        continue;
      }
      LoaderEntry entry{name, partition, found.path(), *text, {}, 0};
      read_counters(entry);
      entries.push_back(std::move(entry));
    }
  }
  std::sort(entries.begin(), entries.end(), comes_before);
  return entries;
}

// A variable of the firmware, which bootctl sets.
std::string take_variable(const fs::path& root, const char* name, bool consume) {
  const fs::path path = root / ".fake/variables" / name;
  const auto text = machine::read_file(path.string());
  if (text && consume) fs::remove(path);
  return text ? std::string(trim(*text)) : "";
}

const LoaderEntry* find_entry(const std::vector<LoaderEntry>& entries, const std::string& pattern) {
  if (pattern.empty()) return nullptr;
  for (const LoaderEntry& entry : entries) {
    if (::fnmatch(to_lower(pattern).c_str(), to_lower(entry.id).c_str(), 0) == 0) return &entry;
  }
  return nullptr;
}

std::string configured_default(const fs::path& root, const Firmware& firmware) {
  const fs::path path = root / firmware.partition.substr(1) / "loader/loader.conf";
  const auto text = machine::read_file(path.string());
  const auto values = text ? entry_values(*text, "default") : std::vector<std::string>{};
  return values.empty() ? "" : values.back();
}

std::string name_without_counters(const LoaderEntry& entry) {
  const std::string stem = fs::path(entry.id).stem().string();
  return stem.substr(0, entry.left ? stem.rfind('+') : std::string::npos);
}

// One boot less is left, before the entry is started.
fs::path count(const LoaderEntry& entry) {
  if (!entry.left) return {};
  const std::uint64_t left = *entry.left == 0 ? 0 : *entry.left - 1;
  const fs::path path =
      entry.file.parent_path() /
      fmt::format("{}+{}-{}.conf", name_without_counters(entry), left, entry.done + 1);
  fs::rename(entry.file, path);
  return path;
}

}  // namespace

std::vector<std::string> entry_values(const std::string& text, const std::string& key) {
  std::vector<std::string> values;
  for (const std::string_view line : split_lines(text)) {
    const auto words = split_words(line);
    if (words.size() < 2 || words.front() != key) continue;
    const std::string_view rest = trim(line);
    values.emplace_back(trim(rest.substr(key.size())));
  }
  return values;
}

Result<BootEntry> choose_with_systemd_boot(const fs::path& root, const Firmware& firmware) {
  const auto entries = read_entries(root, firmware);
  if (entries.empty()) return Error{Errc::not_found, "systemd-boot has no loader entry", ""};
  const LoaderEntry* chosen = find_entry(entries, take_variable(root, "LoaderEntryOneShot", true));
  if (chosen == nullptr) {
    chosen = find_entry(entries, take_variable(root, "LoaderEntryDefault", false));
  }
  if (chosen == nullptr) chosen = find_entry(entries, configured_default(root, firmware));
  if (chosen == nullptr) chosen = &entries.front();
  const std::string inside = chosen->partition == "/" ? "" : chosen->partition;
  BootEntry entry{name_without_counters(*chosen) + ".conf",
                  chosen->first("title"),
                  inside + chosen->first("linux"),
                  {},
                  {},
                  {}};
  std::string images;
  for (const std::string& image : entry_values(chosen->text, "initrd")) {
    entry.images.push_back(inside + image);
    std::string shown = image;
    std::replace(shown.begin(), shown.end(), '/', '\\');
    images += "initrd=" + shown + " ";
  }
  entry.command_line = images + join(entry_values(chosen->text, "options"), " ");
  entry.counted = count(*chosen);
  return entry;
}

}  // namespace headroom::testing
