// SPDX-License-Identifier: Apache-2.0
// Where the control groups of this process are in the file system: a hierarchy may be mounted
// anywhere, and within a container only a part of it (cgroups(7), proc_pid_mountinfo(5)).
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace headroom::machine {

struct GroupPlaces {
  std::optional<std::string> unified;                // Our own group of version 2.
  std::map<std::string, std::string> by_controller;  // Ours of version 1: "memory", "freezer".
};

// From /proc/self/mountinfo and /proc/self/cgroup. What is not mounted where we see it is absent.
GroupPlaces find_group_places(std::string_view mounts, std::string_view own_groups);
// Of a process, now; nothing: this one.
GroupPlaces read_group_places(std::optional<pid_t> process = std::nullopt);

}  // namespace headroom::machine
