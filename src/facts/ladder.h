// SPDX-License-Identifier: Apache-2.0
// The memory ladder: every layer between a job and its GPU memory, from installed RAM to the
// framework, and which of them binds (design.md §4). Formulas are amdgpu's and amdkfd's; each names
// its file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "facts/fact.h"

namespace headroom::facts {

struct Gpu;
struct MachineFacts;

enum class FixedAt { boot, driver_load, live };
enum class RungKind { capacity, free, one_allocation };

struct Rung {
  std::string name;  // contracts.md: "ram", "vram", "ttm", …
  Fact<Bytes> limit;
  Fact<Bytes> used;
  FixedAt fixed_at = FixedAt::live;
  RungKind kind = RungKind::capacity;
  bool applies = false;  // It stands between hipMalloc and memory on this GPU's route.
  bool binding =
      false;  // The smallest capacity that applies; of equals, the one furthest upstream.
};

// Where hipMalloc's memory comes from.
enum class Route {
  vram,  // The card's own memory, or an APU's carve-out.
  gtt,  // System memory: an APU whose carve-out is smaller than GTT (amdgpu_ttm.c, apu_prefer_gtt).
};

struct Ladder {
  Fact<Route> route;
  std::vector<Rung> rungs;  // From upstream to downstream.

  const Rung* rung(std::string_view name) const;
  const Rung* binding() const;
};

// Needs the GPU's own facts (integrated, vram, gtt, pool) but not its ladder.
Fact<Route> infer_route(const Gpu& gpu, const MachineFacts& machine);
Ladder make_ladder(const Gpu& gpu, const MachineFacts& machine);

// amdkfd's limit on system memory: RAM − RAM/64, minus 1.5 GiB where that leaves at least 1.5 GiB
// of it and half of it otherwise (amdgpu_amdkfd_gpuvm.c).
Bytes kfd_system_limit(Bytes ram);
// The same with its numbers filled in: "125.08 GiB - 125.08 GiB/64 - 1.50 GiB = 121.63 GiB".
std::string explain_system_limit(Bytes ram);

std::string_view to_string(FixedAt fixed_at);
std::string_view to_string(RungKind kind);

}  // namespace headroom::facts
