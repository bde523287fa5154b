// SPDX-License-Identifier: Apache-2.0
// Converts a report of the self-test to JSON and back, to hand it over from a child process and to
// store it; and the stored results, by GPU, driver and runtime.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "allocator/self_test/self_test.h"
#include "base/document_fwd.h"
#include "base/result.h"

namespace headroom::allocator {

// The machine for which a result is valid. Each part is text as the machine gives it, and is
// compared as it is.
struct VirtualMemoryKey {
  std::string gpu;      // "gfx1100"; CUDA: the GPU's name.
  std::string driver;   // amdgpu: the kernel's release; CUDA: the driver's version.
  std::string runtime;  // HIP's version as "7.2"; CUDA: empty, since the driver is the runtime.

  bool operator==(const VirtualMemoryKey&) const = default;
};

struct SelfTestResult {
  VirtualMemoryKey key;
  int test_version = 0;  // The self_test_version of the program that ran the test.
  std::string when;      // "2026-11-21T22:30:11Z".
  SelfTestReport report;
};

class SelfTestCache {
 public:
  // The newest result for the key; nullptr if there is none of this self_test_version.
  const SelfTestResult* find(const VirtualMemoryKey& key) const;
  // Replaces the result for the same key. Drops the oldest results when there are too many.
  void put(SelfTestResult result);
  const std::vector<SelfTestResult>& results() const { return results_; }

 private:
  std::vector<SelfTestResult> results_;  // Oldest first.
};

Json to_json(const SelfTestReport& report);
// Fails with what is missing or of the wrong kind.
Result<SelfTestReport> parse_report(const Json& json);

std::string format_cache(const SelfTestCache& cache);
Result<SelfTestCache> parse_cache(std::string_view text);

}  // namespace headroom::allocator
