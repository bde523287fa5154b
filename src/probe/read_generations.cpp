// SPDX-License-Identifier: Apache-2.0
#include "facts/generations.h"
#include "probe/history_reading.h"

namespace headroom::probe {
namespace {

using facts::PackageManager;
using machine::Files;

constexpr std::size_t entries_max = 256;  // Of one folder.
constexpr const char* copied = "a copy does not say when it was made";

std::vector<std::string> list(const Files& files, const std::string& folder) {
  auto names = files.list(folder).value_or(std::vector<std::string>());
  if (names.size() > entries_max) names.resize(entries_max);
  return names;
}

template <class Entry>
void add_all(HistoryReading& reading, PackageManager manager, const std::string& folder,
             std::vector<Entry> entries) {
  if (entries.empty()) return;
  reading.note(manager, folder);
  for (facts::PackageChange& one : facts::changes_of(std::move(entries))) {
    reading.add(std::move(one));
  }
}

void read_nixos(HistoryReading& reading) {
  const std::string folder = "/nix/var/nix/profiles";
  std::vector<facts::Generation> generations;
  for (const std::string& name : list(reading.files, folder)) {
    const auto number = facts::generation_number(name);
    if (!number) continue;
    const std::string path = folder + "/" + name;
    const auto time = reading.files.modified(path);
    if (!time) return reading.note(PackageManager::nixos, folder, copied);
    const auto target = reading.files.read_link(path);
    const auto kernel = reading.files.read_link(path + "/kernel");
    generations.push_back({*number, target ? facts::release_of_generation(*target) : "?",
                           kernel ? facts::kernel_of_generation(*kernel) : "", *time});
  }
  add_all(reading, PackageManager::nixos, folder, std::move(generations));
}

// The version that a deployment's os-release tells, else the start of its checksum.
std::string version_of(const Files& files, const std::string& deployment) {
  constexpr std::size_t os_release_max = 16384;
  constexpr std::size_t checksum_shown = 10;
  const auto text = files.read_tail(deployment + "/usr/lib/os-release", os_release_max);
  const std::string version = text ? facts::deployed_version(*text) : "";
  return version.empty() ? deployment.substr(deployment.rfind('/') + 1, checksum_shown) : version;
}

void read_deployments(HistoryReading& reading, const std::string& folder) {
  std::vector<facts::Deployment> deployments;
  for (const std::string& name : list(reading.files, folder)) {
    constexpr std::string_view ending = ".origin";  // Written when it is deployed.
    if (!name.ends_with(ending)) continue;
    const auto time = reading.files.modified(folder + "/" + name);
    if (!time) return reading.note(PackageManager::ostree, folder, copied);
    const std::string tree = folder + "/" + name.substr(0, name.size() - ending.size());
    deployments.push_back({*time, version_of(reading.files, tree)});
  }
  add_all(reading, PackageManager::ostree, folder, std::move(deployments));
}

}  // namespace

void read_generations(HistoryReading& reading) {
  read_nixos(reading);
  for (const std::string& system : list(reading.files, "/ostree/deploy")) {
    read_deployments(reading, "/ostree/deploy/" + system + "/deploy");
  }
}

}  // namespace headroom::probe
