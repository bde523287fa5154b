// SPDX-License-Identifier: Apache-2.0
// The memory ladder: every layer between a job and its GPU memory, from installed RAM to the
// framework, and which of them binds (docs/check.md, "The memory ladder"). The formulas are
// amdgpu's and amdkfd's; each names its file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "facts/fact.h"
#include "facts/kfd_rule.h"

namespace headroom::facts {

struct Gpu;
struct MachineFacts;

enum class FixedAt { boot, driver_load, live };
enum class RungKind { capacity, free, one_allocation };

struct Rung {
  std::string name;  // As in docs/check.md: "ram", "vram", "ttm", …
  Fact<Bytes> limit;
  Fact<Bytes> used;
  FixedAt fixed_at = FixedAt::live;
  RungKind kind = RungKind::capacity;
  bool applies = false;  // It stands between hipMalloc and memory on this GPU's route.
  bool binding =
      false;  // The smallest capacity that applies; of equals, the one furthest upstream.
  // The source counts in units of this and rounds down: what holds is the limit or more, by less
  // than one unit. Figures that no more than this tells apart are one.
  Bytes unit{1};
  bool at_most = false;  // What holds cannot be known beforehand; it is no more than the limit.
};

// Whether the limit, for all that its source rounds off, may be this figure. Requires: it is known.
bool may_be(const Rung& rung, Bytes exact);

// Where hipMalloc's memory comes from.
enum class Route {
  vram,  // The card's own memory, or an APU's carve-out.
  gtt,  // System memory: an APU whose carve-out is smaller than GTT (amdgpu_ttm.c, apu_prefer_gtt).
};

struct Ladder {
  Fact<Route> route;
  Fact<KfdRule> kfd_rule;   // What "kfd-system" and "kfd-ttm" are computed by.
  std::vector<Rung> rungs;  // From upstream to downstream.

  const Rung* rung(std::string_view name) const;
  const Rung* binding() const;
  // "kfd-ttm" where it is known and is TTM's limit as it was when the driver loaded; else nullptr.
  const Rung* ttm_at_load() const;
  // Whether that rung is computed from the RAM that happened to be free when the driver loaded, so
  // that the next boot has another.
  bool varies(std::string_view name) const;
};

// Needs the GPU's own facts (integrated, vram, gtt, pool) but not its ladder.
Fact<Route> infer_route(const Gpu& gpu, const MachineFacts& machine);
Ladder make_ladder(const Gpu& gpu, const MachineFacts& machine);

std::string_view to_string(FixedAt fixed_at);
std::string_view to_string(RungKind kind);

}  // namespace headroom::facts
