// SPDX-License-Identifier: Apache-2.0
// Control groups as seen from /proc/PID/cgroup and the files under /sys/fs/cgroup: which container
// and unit a process belongs to, and what limits it. Both versions
// (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst) and the dmem controller (6.14 and
// later).
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "facts/text_facts.h"

namespace headroom::facts {

struct CgroupPaths {
  std::string v2;         // From "0::/…"; empty if there is no such line.
  std::string memory_v1;  // From "N:memory:/…"; empty if there is no such line.
};
CgroupPaths parse_cgroup_paths(std::string_view text);

struct Membership {
  std::string engine;  // "docker", "podman", "lxc", "kubernetes", "containerd"; empty: none seen.
  std::string container;  // The first 12 digits of the container's id, or its name; may be empty.
  std::string unit;       // The systemd unit; may be empty.
  std::string job;  // "slurm job 4711", "pod 3f1c…": the batch system's name for it; or empty.
};
Membership parse_membership(std::string_view cgroup_text);
// "4711" where Membership::job is "slurm job 4711"; empty where it is none of Slurm's.
std::string_view slurm_number(std::string_view job);

// memory.max or memory.limit_in_bytes: "max", and v1's huge number, are not_limited.
Fact<Bytes> parse_memory_limit(const Text& text);

// dmem.max or dmem.current: the value for the VRAM region of one device, "drm/0000:03:00.0/vram0
// max".
Fact<Bytes> parse_dmem(const Text& text, std::string_view pci);

}  // namespace headroom::facts
