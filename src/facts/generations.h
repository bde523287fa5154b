// SPDX-License-Identifier: Apache-2.0
// Systems that are replaced as a whole, NixOS by generations and OSTree by deployments, as changes
// of packages: each replaced the one before it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/package_history.h"

namespace headroom::facts {

struct Generation {
  std::uint64_t number = 0;
  std::string release;  // "25.05.20250801.abcdef".
  std::string kernel;   // "6.12.8"; empty: not known.
  std::string time;     // As in PackageChange.
};

// The number of a link in /nix/var/nix/profiles: 43 of "system-43-link", nothing of any other name.
std::optional<std::uint64_t> generation_number(std::string_view name);
// The release in what such a link says: "/nix/store/HASH-nixos-system-HOST-25.05.2025.abc". The
// host's name is left out.
std::string release_of_generation(std::string_view target);
// The version in what its link `kernel` says: "/nix/store/HASH-linux-6.12.8/bzImage"; empty if it
// is no such path.
std::string kernel_of_generation(std::string_view target);

// Each generation against the one before it, by their numbers: the system, and its kernel where
// that is another one.
std::vector<PackageChange> changes_of(std::vector<Generation> generations);

struct Deployment {
  std::string time;
  std::string version;  // "42.20250801.0", or the start of its checksum.
};

// OSTREE_VERSION of an os-release; empty if it has none.
std::string deployed_version(std::string_view os_release);
// Each deployment against the one before it, by their times.
std::vector<PackageChange> changes_of(std::vector<Deployment> deployments);

}  // namespace headroom::facts
