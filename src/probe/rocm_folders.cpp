// SPDX-License-Identifier: Apache-2.0
#include "probe/rocm_folders.h"

#include <array>

#include "facts/boot_tools.h"
#include "probe/read_text.h"

namespace headroom::probe {
namespace {

using Names = std::vector<std::string>;

// The folders in `folder` whose names are `prefix` and a version, the newest first.
Names versioned(const machine::Files& files, const std::string& folder, std::string_view prefix) {
  Names versions;
  const auto names = files.list(folder);
  for (const std::string& name : names ? *names : Names{}) {
    if (!name.starts_with(prefix) || name.size() == prefix.size()) continue;
    const char first = name[prefix.size()];
    if (first >= '0' && first <= '9') versions.push_back(name.substr(prefix.size()));
  }
  facts::sort_newest_first(versions);
  for (std::string& version : versions) version = folder + "/" + std::string(prefix) + version;
  return versions;
}

// The links to the installation that programs find.
constexpr std::array linked = {"/opt/rocm", "/opt/rocm/core"};

// The installations by their versions, which no link may lead to.
Names installations(const machine::Files& files) {
  Names found = versioned(files, "/opt/rocm", "core-");
  const Names older = versioned(files, "/opt", "rocm-");
  found.insert(found.end(), older.begin(), older.end());
  return found;
}

facts::Text version_in(const machine::Files& files, const std::string& place) {
  return facts::parse_word(read_text(files, place + "/.info/version"));
}

}  // namespace

facts::Text read_rocm_version(const machine::Files& files) {
  for (const char* place : linked) {
    facts::Text version = version_in(files, place);
    if (version) return version;
  }
  for (const std::string& place : installations(files)) {
    facts::Text version = version_in(files, place);
    if (version) return version;
  }
  return version_in(files, linked.front());
}

std::vector<std::string> rocm_library_folders(const machine::Files& files) {
  Names folders;
  for (const char* place : linked) folders.push_back(std::string(place) + "/lib");
  for (const std::string& place : installations(files)) folders.push_back(place + "/lib");
  return folders;
}

}  // namespace headroom::probe
