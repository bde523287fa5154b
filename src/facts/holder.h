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
  std::string user;     // Its name, or its number where /etc/passwd has no name; may be empty.
  Membership membership;
  std::vector<DrmClient> clients;
  bool opens_gpu = false;  // Has /dev/kfd or /dev/dri/* open.
};

struct Processes {
  std::vector<Process> visible;  // With an entry under /proc.
  std::vector<KfdProcess> kfd;
  bool complete = false;  // Every process's descriptors could be read, and none is hidden.
};

// Where a holder is, seen from here.
enum class Whereabouts {
  here,     // It has an entry under this root's /proc.
  outside,  // Out of sight: on the host, seen from a container, or hidden from this user.
  gone,     // Nowhere: the driver still lists it, and every process here can be seen.
};

struct Holder {
  std::uint64_t pid = 0;  // The host's PID where `visible` is false.
  std::string command;    // Empty where it cannot be known.
  std::string user;
  std::string engine;  // "docker", …; empty outside of containers.
  std::string container;
  std::string unit;
  std::string job;
  std::optional<Bytes> vram;
  std::optional<Bytes> gtt;
  bool visible = true;  // It has an entry under this root's /proc.
  Whereabouts whereabouts = Whereabouts::here;
  bool in_kfd = false;  // KFD lists it: it uses compute.
  Source source;        // The file that says how much.
};

// The holders of one GPU, largest first. `pool_in_gtt`: hipMalloc takes system memory (an APU), so
// what KFD calls VRAM lives in GTT. `in_container`: PIDs of /proc and of KFD are not the same
// numbers.
std::vector<Holder> find_holders(const Gpu& gpu, const Processes& processes, bool pool_in_gtt,
                                 bool in_container);

// Where the driver's counter of one GPU goes: what is in use is held here, held outside, held by
// the gone, the driver's own, or not attributed. On an APU carve-out and GTT are one memory.
struct Accounting {
  Fact<Bytes> used;
  Fact<Bytes> here, outside, gone;  // Missing where a holder's share is not known.
  // Firmware, page tables and scan-out buffers: what an idle GPU shows, or an upper bound of it.
  Fact<Bytes> baseline;
  Fact<Bytes> unattributed;
  // Holders claim that much more than the driver counts: buffers that they share.
  Fact<Bytes> beyond;
};

// Requires: `gpu.holders` is filled in.
Accounting make_accounting(const Gpu& gpu);

std::string_view to_string(Whereabouts whereabouts);

}  // namespace headroom::facts
