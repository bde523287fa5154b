// SPDX-License-Identifier: Apache-2.0
// Who holds GPU memory. Two witnesses: KFD's process list (compute only, host PIDs, also seen from
// inside a container) and the DRM clients of each process (graphics too, own PID namespace only).
// They overlap, and nothing is counted twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "facts/cgroup.h"
#include "facts/fdinfo.h"
#include "facts/kfd.h"

namespace headroom::facts {

struct Gpu;

// A process of this machine that has a GPU's device nodes open, or that KFD names.
struct Process {
  std::uint64_t pid = 0;
  std::string command;  // comm, or argv[0]'s name where comm is unreadable.
  Membership membership;
  std::vector<DrmClient> clients;
  bool opens_gpu = false;  // Has /dev/kfd or /dev/dri/* open.
};

struct Processes {
  std::vector<Process> visible;  // With an entry under /proc.
  std::vector<KfdProcess> kfd;
  bool complete = false;  // Every process's descriptors could be read.
};

struct Holder {
  std::uint64_t pid = 0;  // The host's PID where `visible` is false.
  std::string command;    // Empty where it cannot be known.
  std::string container;
  std::string unit;
  std::optional<Bytes> vram;
  std::optional<Bytes> gtt;
  bool visible = true;  // It has an entry under this root's /proc.
  bool in_kfd = false;  // KFD lists it: it uses compute.
  Source source;        // The file that says how much.
};

// The holders of one GPU, largest first. `pool_in_gtt`: hipMalloc takes system memory (an APU), so
// what KFD calls VRAM lives in GTT. `in_container`: PIDs of /proc and of KFD are not the same
// numbers.
std::vector<Holder> find_holders(const Gpu& gpu, const Processes& processes, bool pool_in_gtt,
                                 bool in_container);

}  // namespace headroom::facts
