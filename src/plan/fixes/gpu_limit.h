// SPDX-License-Identifier: Apache-2.0
// The change that gives an APU's GPU another share of the RAM: TTM's page limit for the next boot,
// its pool beside it, and a deprecated amdgpu.gttsize taken away. Several findings are cured by it.
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "plan/fix.h"

namespace headroom::plan {

struct LimitWish {
  std::string_view fix;  // Its id.
  // What is meant without --size, where that is not "auto".
  std::optional<Bytes> usual;
  // Without --size a limit that is above "auto" already is kept.
  bool only_raise = false;
};

// Fails with unsupported where no such limit stands between the GPU and the RAM (cards, carve-out
// pools, MI300A, containers, old kernels), and with invalid where the size cannot be had or is in
// force already.
Result<Change> plan_gpu_limit(const FixSubject& subject, const LimitWish& wish);

// The APU whose limit it is; nullptr: there is none.
const facts::Gpu* find_apu(const facts::Facts& facts);

}  // namespace headroom::plan
