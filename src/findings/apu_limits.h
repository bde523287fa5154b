// SPDX-License-Identifier: Apache-2.0
// What the three rules about an APU's memory limits share: which limit it is and who set it.
#pragma once

#include <optional>
#include <string>

#include "facts/facts.h"
#include "findings/finding.h"

namespace headroom::findings {

struct ApuLimit {
  Bytes limit;    // What the GPU can get now.
  Bytes advised;  // What the RAM would allow.
  Bytes ram;
  bool by_gtt = false;   // The GTT size binds, not TTM's limit.
  bool movable = false;  // The binding rung is one that options can move.
};
// Of an APU that allocates system memory and is worth the trouble; nothing for any other GPU.
std::optional<ApuLimit> find_apu_limit(const facts::Gpu& gpu, const facts::MachineFacts& machine);

// Below this share of what the RAM allows, a limit is worth raising.
constexpr double worth_raising = 0.75;
bool is_small(const ApuLimit& limit);

// Set by somebody: not the kernel's default of half the RAM, nor a GTT that follows it.
bool limit_was_set(const ApuLimit& limit, const facts::MachineFacts& machine);

// Adds what every such finding shows: TTM's limit, the RAM, GTT and the pool.
void show_limits(const facts::Gpu& gpu, const facts::MachineFacts& machine, Finding& finding);
// The steps that raise TTM's limit to what is advised.
std::vector<Step> steps_to_raise(const ApuLimit& limit, const facts::MachineFacts& machine);

}  // namespace headroom::findings
