// SPDX-License-Identifier: Apache-2.0
// What the three rules about an APU's memory limits share: which limit binds and who set it.
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
  bool by_gtt = false;   // Whether the GTT size binds, and not TTM's limit.
  bool movable = false;  // Whether options can change the binding rung.
};
// Finds the limit of an APU that allocates system memory and is supported; nothing for any other
// GPU.
std::optional<ApuLimit> find_apu_limit(const facts::Gpu& gpu, const facts::MachineFacts& machine);

// Below this share of what the RAM allows, a limit is worth raising.
constexpr double worth_raising = 0.75;
bool is_small(const ApuLimit& limit);

// Whether someone set the limit: it is neither the kernel's default of half the RAM nor a GTT size
// that follows from it.
bool limit_was_set(const ApuLimit& limit, const facts::MachineFacts& machine);

// Adds the evidence that every such finding shows: TTM's limit, the RAM, GTT and the pool.
void show_limits(const facts::Gpu& gpu, const facts::MachineFacts& machine, Finding& finding);
// The steps that raise TTM's limit to what is advised, and those that drop amdgpu.gttsize with it.
std::vector<Step> steps_to_raise(const ApuLimit& limit, const facts::MachineFacts& machine,
                                 bool drop_gttsize = false);

}  // namespace headroom::findings
