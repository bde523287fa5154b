// SPDX-License-Identifier: Apache-2.0
// What a reboot would bring: settings that people change (TTM's page limit, gttsize, the BIOS
// carve-out, the kernel) applied to a machine's facts by the driver's own rules, so that the same
// ladder and the same findings can be asked of the machine as it would be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "facts/facts.h"
#include "facts/kernel_text.h"
#include "knowledge/knobs.h"

namespace headroom::facts {

// One kind of setting: a value, or a return to the kernel's default, or nothing said.
struct SizeChange {
  std::optional<Bytes> value;
  bool to_default = false;
};

struct WhatIf {
  SizeChange pages_limit;  // ttm.pages_limit.
  SizeChange gttsize;      // amdgpu.gttsize.
  std::optional<Bytes> carve_out;
  std::optional<Bytes> ram;  // MemTotal after the change, where it is known better than computed.
  std::optional<KernelVersion> kernel;
  std::string kernel_text;  // The same as typed, with what distributions add: "6.17.0-19-generic".
  std::optional<bool> no_system_limit;  // amdgpu.no_system_mem_limit.
  // Parameters of the driver that no limit depends on, as "amdgpu.vm_size=131072".
  std::vector<std::string> without_effect;
  std::vector<std::string> words;  // As typed.
};

// "ttm.pages_limit=120GiB" (a bare number is pages, as on the kernel command line),
// "gttsize=117760" (MiB), "carveout=512MiB", "ram=122.7GiB", "kernel=6.8",
// "amdgpu.no_system_mem_limit=1", "reboot" (change nothing). "=default" or "=-1" takes a setting
// back. Fails on unknown names and impossible values, with what was expected. With `knobs`, any
// other parameter of the driver's modules is taken as well, with its module or without: it changes
// nothing.
Result<WhatIf> parse_what_if(const std::vector<std::string>& words,
                             const knowledge::KnobTable* knobs = nullptr);

// How a kernel chooses where an APU's hipMalloc takes its memory.
enum class PoolRule {
  carve_out_only,     // Before 6.10.
  always_gtt,         // 6.10 to about 6.14 (commit 89773b85599a).
  smaller_carve_out,  // About 6.15 and later: GTT if the carve-out is smaller (commit
                      // 759e764f7d58).
};
PoolRule pool_rule_of(const KernelVersion& version);

struct Prediction {
  Facts facts;                     // Ladders are made, holders are none.
  std::vector<std::string> steps;  // How it follows: sentences with the numbers filled in.
};

// Discrete cards and MI300A keep what they have: none of these settings reaches them.
Prediction predict(const Facts& now, const WhatIf& change);

}  // namespace headroom::facts
