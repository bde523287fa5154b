// SPDX-License-Identifier: Apache-2.0
// What `headroom test --virtual-memory` found: for people, and as JSON for programs (schema
// headroom.test/1).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "allocator/self_test/self_test_record.h"
#include "base/document.h"
#include "report/style.h"

namespace headroom::report {

// What becomes of a device's virtual memory.
enum class VirtualMemoryUse {
  used,
  failed,    // A step failed: not used.
  denied,    // Every step passed, and something else speaks against it: not used.
  not_kept,  // Every step passed, and the verdict could not be kept: not used.
  untested,  // Nothing could be tested: not used.
};

struct TestedDevice {
  std::string runtime;  // "HIP", "CUDA"; empty: host memory.
  int device = 0;       // The runtime's number of it.
  std::string name;     // "AMD Radeon RX 7900 XTX", "host memory".
  std::string pci;      // Empty where it has none, or it is not known.
  allocator::VirtualMemoryKey key;
  std::optional<allocator::SelfTestReport> result;  // Nothing: it could not be tested.
  VirtualMemoryUse use = VirtualMemoryUse::untested;
  std::string why;  // Unless it is used: one sentence.

  bool is_host() const { return runtime.empty(); }
};

// A runtime of which no device was tested.
struct AbsentRuntime {
  std::string runtime;
  std::string why;
  bool has_gpu = false;  // The machine has a GPU that it is for.
};

struct VirtualMemoryReport {
  std::vector<TestedDevice> devices;
  std::vector<AbsentRuntime> absent;
  std::string path;      // Where the verdicts are kept.
  bool named = false;    // The user named that file: nobody looks there without being told.
  std::string not_kept;  // Why nothing could be kept there; empty: it was.
};

Json to_json(const VirtualMemoryReport& report);
std::string to_text(const VirtualMemoryReport& report, const Style& style);

}  // namespace headroom::report
