// SPDX-License-Identifier: Apache-2.0
#include "knowledge/package_table.h"

#include <algorithm>
#include <array>

#include "base/document.h"
#include "base/document_reader.h"
#include "knowledge/embedded.h"

namespace headroom::knowledge {
namespace {

constexpr std::array<std::string_view, 11> manager_words = {"apt",      "pacman", "dnf",   "zypp",
                                                            "dkms",     "pip",    "nixos", "ostree",
                                                            "headroom", "docker", "podman"};
constexpr std::array<std::string_view, 10> kind_words = {
    "kernel",    "firmware",  "driver", "rocm",     "graphics",
    "framework", "container", "system", "settings", "image"};

template <class Enum, std::size_t Count>
std::optional<Enum> parse_word(const std::array<std::string_view, Count>& words,
                               std::string_view word) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

template <class Enum, std::size_t Count>
std::vector<Enum> read_words(TableReader& row, std::string_view key,
                             const std::array<std::string_view, Count>& words) {
  std::vector<std::string> texts;
  row.read(key, texts);
  std::vector<Enum> values;
  for (const std::string& text : texts) {
    if (const auto value = parse_word<Enum>(words, text)) {
      values.push_back(*value);
    } else {
      row.wrong(key, "names that this table knows");
    }
  }
  return values;
}

PackageFamily read_family(TableReader& row) {
  PackageFamily family;
  family.kind = row.choice<PackageKind>("kind", last_package_kind);
  row.read("names", family.names);
  const bool readable = std::all_of(family.names.begin(), family.names.end(), [](const auto& name) {
    return !name.empty() && std::count(name.begin(), name.end(), '*') <= 1;
  });
  if (family.names.empty() || !readable) row.wrong("names", "names with at most one * each");
  family.managers = read_words<PackageManager>(row, "managers", manager_words);
  family.origin = read_origin(row);
  row.refuse_unknown();
  return family;
}

WayBack read_way(TableReader& row) {
  WayBack way;
  way.manager = row.choice<PackageManager>("manager", last_package_manager);
  way.kinds = read_words<PackageKind>(row, "kinds", kind_words);
  way.says = row.text("says");
  row.read("command", way.command);
  row.read("needs_from", way.needs_from);
  row.read("of_installed", way.of_installed);
  way.origin = read_origin(row);
  row.refuse_unknown();
  return way;
}

}  // namespace

std::string_view to_string(PackageManager manager) {
  return manager_words[static_cast<std::size_t>(manager)];
}

bool manages_images(PackageManager manager) {
  return manager == PackageManager::docker || manager == PackageManager::podman;
}

std::optional<PackageManager> parse_package_manager(std::string_view word) {
  return parse_word<PackageManager>(manager_words, word);
}

std::string_view to_string(PackageKind kind) {
  return kind_words[static_cast<std::size_t>(kind)];
}

bool matches_package(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  const std::string_view start = pattern.substr(0, star);
  const std::string_view end = pattern.substr(star + 1);
  return name.size() >= start.size() + end.size() && name.starts_with(start) && name.ends_with(end);
}

const PackageFamily* PackageTable::family(PackageManager manager, std::string_view package) const {
  // Podman writes out the registry that Docker takes for granted.
  constexpr std::string_view usual_registry = "docker.io/";
  if (manages_images(manager) && package.starts_with(usual_registry)) {
    package.remove_prefix(usual_registry.size());
  }
  for (const PackageFamily& one : families) {
    const bool managed = one.managers.empty() || std::find(one.managers.begin(), one.managers.end(),
                                                           manager) != one.managers.end();
    const bool named = managed && std::any_of(one.names.begin(), one.names.end(), [&](auto& name) {
                         return matches_package(name, package);
                       });
    if (named) return &one;
  }
  return nullptr;
}

const Suspects* PackageTable::suspects_of(std::string_view cause) const {
  const auto found = std::find_if(suspects.begin(), suspects.end(),
                                  [&](const Suspects& one) { return one.cause == cause; });
  return found == suspects.end() ? nullptr : &*found;
}

Result<PackageTable> parse_package_table(std::string_view text) {
  PackageTable table;
  HEADROOM_TRY(const Document document, parse_toml(text));
  DocumentReader reader(document, {.file = "data/packages.toml"});
  TableReader head = reader.root();
  for (TableReader& row : head.rows("family")) table.families.push_back(read_family(row));
  for (TableReader& row : head.rows("way_back")) table.ways.push_back(read_way(row));
  for (TableReader& row : head.rows("suspects")) {
    const std::string cause = row.text("cause");
    if (table.suspects_of(cause) != nullptr) row.wrong("cause", "a cause that no other row has");
    table.suspects.push_back({cause, read_words<PackageKind>(row, "kinds", kind_words)});
    row.refuse_unknown();
  }
  HEADROOM_CHECK(reader.finish());
  return table;
}

Result<PackageTable> load_package_table() {
  return parse_package_table(embedded("packages"));
}

}  // namespace headroom::knowledge
