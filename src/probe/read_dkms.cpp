// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "base/text.h"
#include "facts/moment.h"
#include "machine/byte_source.h"
#include "probe/history_reading.h"

namespace headroom::probe {
namespace {

using facts::PackageAction;
using facts::PackageManager;
using machine::Files;

constexpr std::size_t entries_max = 256;  // Of one folder.

std::vector<std::string> list(const Files& files, const std::string& folder) {
  auto names = files.list(folder).value_or(std::vector<std::string>());
  if (names.size() > entries_max) names.resize(entries_max);
  return names;
}

// The moment that a module's log of its build begins with, else that of the module itself.
std::string built_at(const Files& files, const std::string& folder) {
  std::array<char, 512> start{};
  const auto file = files.open_file(folder + "/log/make.log");
  const auto bytes = file ? machine::FileBytes::of(file->get()) : file.error();
  const auto length = bytes ? bytes->read_at(0, start) : bytes.error();
  if (length) {
    const auto lines = split_lines({start.data(), *length});
    if (lines.size() > 1) {
      std::string time = facts::parse_log_moment(lines[1], "");
      if (time.size() == 10) time += "T00:00:00";
      if (!time.empty()) return time;
    }
  }
  return files.modified(folder + "/module").value_or("");
}

void read_builds(HistoryReading& reading, const std::string& module, const std::string& version) {
  const std::string folder = "/var/lib/dkms/" + module + "/" + version;
  for (const std::string& kernel : list(reading.files, folder)) {
    if (kernel == "build" || kernel == "source") continue;
    for (const std::string& machine : list(reading.files, folder + "/" + kernel)) {
      const std::string time = built_at(reading.files, folder + "/" + kernel + "/" + machine);
      if (time.empty()) continue;
      reading.add({time, module, "", version + " for " + kernel, PackageAction::install,
                   PackageManager::dkms});
    }
  }
}

}  // namespace

void read_dkms(HistoryReading& reading) {
  const std::string folder = "/var/lib/dkms";
  const auto modules = reading.files.list(folder);
  if (!modules) return reading.note(PackageManager::dkms, folder, modules.error());
  for (const std::string& module : *modules) {
    if (reading.table.family(PackageManager::dkms, module) == nullptr) continue;
    reading.note(PackageManager::dkms, folder + "/" + module);
    for (const std::string& version : list(reading.files, folder + "/" + module)) {
      read_builds(reading, module, version);
    }
  }
}

}  // namespace headroom::probe
