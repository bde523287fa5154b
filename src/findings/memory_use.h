// SPDX-License-Identifier: Apache-2.0
// What the memory rules share: how full a GPU is, and how much system memory an APU's GPU may be
// given.
#pragma once

#include <optional>
#include <string>

#include "facts/facts.h"

namespace headroom::findings {

struct MemoryUse {
  Bytes capacity;  // The binding rung's limit.
  facts::Fact<Bytes> used;
};
// Nothing where capacity or use is not known.
std::optional<MemoryUse> memory_use(const facts::Gpu& gpu);

// From this share of the capacity on, jobs get noticeably less; from that one on, they fail.
constexpr double crowded_share = 0.5;
constexpr double full_share = 0.9;
double share(Bytes part, Bytes whole);

// RAM that the system keeps for itself when an APU's limit is raised: a quarter of it, but at most
// 8 GiB and at least the 4 GiB below which `headroom fix` refuses.
Bytes reserve_for_system(Bytes ram);
// RAM less the reserve, in whole GiB; never less than the half that the kernel gives by itself.
Bytes advised_gpu_limit(Bytes ram);

bool on_gtt(const facts::Gpu& gpu);
bool on_carve_out(const facts::Gpu& gpu);  // An APU that allocates from its carve-out.

// TTM's default is half of the RAM that the kernel had when it loaded, which MemTotal is a little
// below or above of.
bool is_half_of_ram(Bytes limit, Bytes ram);

// "AMD Radeon 8060S (gfx1151)".
std::string title_of(const facts::Gpu& gpu);

}  // namespace headroom::findings
