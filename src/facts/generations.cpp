// SPDX-License-Identifier: Apache-2.0
#include "facts/generations.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace headroom::facts {
namespace {

std::string shown(const Generation& one) {
  return fmt::format("generation {} ({})", one.number, one.release);
}

}  // namespace

std::optional<std::uint64_t> generation_number(std::string_view name) {
  constexpr std::string_view start = "system-";
  constexpr std::string_view end = "-link";
  if (name.size() < start.size() + end.size() || !name.starts_with(start) || !name.ends_with(end)) {
    return std::nullopt;
  }
  return parse_u64(name.substr(start.size(), name.size() - start.size() - end.size()));
}

std::string release_of_generation(std::string_view target) {
  return std::string(target.substr(target.rfind('-') + 1));
}

std::string kernel_of_generation(std::string_view target) {
  constexpr std::string_view before = "-linux-";
  const std::size_t start = target.find(before);
  if (start == std::string_view::npos) return "";
  const std::string_view rest = target.substr(start + before.size());
  return std::string(rest.substr(0, rest.find('/')));
}

std::vector<PackageChange> changes_of(std::vector<Generation> generations) {
  std::sort(generations.begin(), generations.end(),
            [](const Generation& a, const Generation& b) { return a.number < b.number; });
  std::vector<PackageChange> changes;
  for (std::size_t i = 1; i < generations.size(); ++i) {
    const Generation& before = generations[i - 1];
    const Generation& one = generations[i];
    changes.push_back({one.time, "nixos", shown(before), shown(one), PackageAction::upgrade,
                       PackageManager::nixos});
    if (before.kernel.empty() || one.kernel.empty() || before.kernel == one.kernel) continue;
    changes.push_back({one.time, "linux", before.kernel, one.kernel, PackageAction::upgrade,
                       PackageManager::nixos});
  }
  return changes;
}

std::string deployed_version(std::string_view os_release) {
  constexpr std::string_view key = "OSTREE_VERSION=";
  for (const std::string_view line : split_lines(os_release)) {
    if (!line.starts_with(key)) continue;
    std::string value(line.substr(key.size()));
    std::erase_if(value, [](char c) { return c == '\'' || c == '"'; });
    return value;
  }
  return "";
}

std::vector<PackageChange> changes_of(std::vector<Deployment> deployments) {
  std::sort(deployments.begin(), deployments.end(),
            [](const Deployment& a, const Deployment& b) { return a.time < b.time; });
  std::vector<PackageChange> changes;
  for (std::size_t i = 1; i < deployments.size(); ++i) {
    changes.push_back({deployments[i].time, "ostree", deployments[i - 1].version,
                       deployments[i].version, PackageAction::upgrade, PackageManager::ostree});
  }
  return changes;
}

}  // namespace headroom::facts
