// SPDX-License-Identifier: Apache-2.0
// Virtual memory on trial, device by device, and the verdicts kept where the allocator looks for
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "facts/facts.h"
#include "report/virtual_memory_report.h"

namespace headroom::cli {

struct Trial {
  std::string path;  // Where the verdicts are kept.
  // It is the user's own, where the allocator looks without being told: private folders are made
  // above it where they are missing. Else somebody named it.
  bool is_default = false;
  std::uint64_t timeout_ms = 0;  // After which a device hangs.
  // Told what is tested next.
  std::function<void(const std::string& what)> on_begin;
};

// Tests host memory and every GPU that HIP and CUDA show here, each in a child process that may
// die. What the machine says of its GPUs comes from `facts`. Never fails as a whole: what could not
// be tested or kept says why. Requires: this process has one thread and has not used a GPU yet.
report::VirtualMemoryReport earn_virtual_memory(const facts::Facts& facts, const Trial& trial);

}  // namespace headroom::cli
