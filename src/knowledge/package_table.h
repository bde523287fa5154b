// SPDX-License-Identifier: Apache-2.0
// Which packages matter to jobs on a GPU, and how to take a change of them back
// (data/packages.toml). What a machine's histories tell of other packages is nobody's business and
// is left out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "knowledge/origin.h"

namespace headroom::knowledge {

// Who changed a package, and so who can take it back. Of dpkg's own log it is apt; headroom changes
// settings (headroom fix), each named by what it mends.
enum class PackageManager {
  apt,
  pacman,
  dnf,
  zypp,
  dkms,
  pip,
  nixos,
  ostree,
  headroom,
  docker,
  podman,
};
constexpr PackageManager last_package_manager = PackageManager::podman;
// Whether it manages images of containers.
bool manages_images(PackageManager manager);
std::string_view to_string(PackageManager manager);
// "apt"; nothing for a word that names none.
std::optional<PackageManager> parse_package_manager(std::string_view word);

enum class PackageKind {
  kernel,
  firmware,
  driver,
  rocm,
  graphics,
  framework,
  container,
  system,
  settings,
  image,
};
constexpr PackageKind last_package_kind = PackageKind::image;
std::string_view to_string(PackageKind kind);

struct PackageFamily {
  PackageKind kind = PackageKind::kernel;
  std::vector<std::string> names;        // Each may hold one "*", which stands for any letters.
  std::vector<PackageManager> managers;  // Empty: any.
  Origin origin;
};

// How to take a change back. "{package}", "{from}" and "{to}" are filled in, in the command's last
// word for each of several packages that changed together.
struct WayBack {
  PackageManager manager = PackageManager::apt;
  std::vector<PackageKind> kinds;  // Empty: any.
  std::string says;                // What it does: "put the older package back".
  std::string command;             // Empty: it is done by hand, as `says` tells.
  bool needs_from = false;         // Only where the old version is known.
  bool of_installed = false;       // Only of what was installed anew.
  Origin origin;
};

// A root cause that a change of these kinds may have brought.
struct Suspects {
  std::string cause;
  std::vector<PackageKind> kinds;
};

struct PackageTable {
  std::vector<PackageFamily> families;  // The most telling ones first.
  std::vector<WayBack> ways;            // The first that fits counts.
  std::vector<Suspects> suspects;

  // nullptr for a package that does not matter.
  const PackageFamily* family(PackageManager manager, std::string_view package) const;
  // nullptr for a cause that no change brings.
  const Suspects* suspects_of(std::string_view cause) const;
};

// Whether a pattern of the table stands for the name.
bool matches_package(std::string_view pattern, std::string_view name);

// The embedded table. Fails only if data/packages.toml is wrong, which a test excludes.
Result<PackageTable> load_package_table();
// The same from any text; fails with the table's line.
Result<PackageTable> parse_package_table(std::string_view text);

}  // namespace headroom::knowledge
