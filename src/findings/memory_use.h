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
// Nothing if the capacity or the use is not known.
std::optional<MemoryUse> memory_use(const facts::Gpu& gpu);

// From crowded_share of the capacity on, jobs get noticeably less; from full_share on, they fail.
constexpr double crowded_share = 0.5;
constexpr double full_share = 0.9;
double share(Bytes part, Bytes whole);

// How much RAM the system keeps for itself when an APU's limit is raised: a quarter, but at most 8
// GiB and at least the 4 GiB below which `headroom fix` refuses.
Bytes reserve_for_system(Bytes ram);
// RAM minus the reserve, in whole GiB, but at least the half that the kernel allows by default.
Bytes advised_gpu_limit(Bytes ram);

bool on_gtt(const facts::Gpu& gpu);
// Whether it is an APU that allocates from its carve-out.
bool on_carve_out(const facts::Gpu& gpu);

// Whether the limit is TTM's default. That is half of the RAM that the kernel counted when TTM
// loaded, which differs a little from half of MemTotal.
bool is_half_of_ram(Bytes limit, Bytes ram);

// "AMD Radeon 8060S (gfx1151)".
std::string title_of(const facts::Gpu& gpu);

}  // namespace headroom::findings
