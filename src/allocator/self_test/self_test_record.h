// SPDX-License-Identifier: Apache-2.0
// A report of the self-test as JSON and back: how a child process hands it over, and how it is
// kept. And the results kept: what was found for which GPU, driver and runtime.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "allocator/self_test/self_test.h"
#include "base/document_fwd.h"
#include "base/result.h"

namespace headroom::allocator {

// What a result holds for. Each is text as the machine gives it, compared as it is.
struct VirtualMemoryKey {
  std::string gpu;      // "gfx1100"; CUDA: the GPU's name.
  std::string driver;   // amdgpu: the kernel's release; CUDA: the driver's version.
  std::string runtime;  // HIP's version as "7.2"; CUDA: empty, since the driver is the runtime.

  bool operator==(const VirtualMemoryKey&) const = default;
};

struct SelfTestResult {
  VirtualMemoryKey key;
  int test_version = 0;  // self_test_version of the program that tested.
  std::string when;      // "2026-11-21T22:30:11Z".
  SelfTestReport report;
};

class SelfTestCache {
 public:
  // The newest; nullptr where there is none by this self_test_version.
  const SelfTestResult* find(const VirtualMemoryKey& key) const;
  // Replaces what was there for its key. The oldest go when there are too many.
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
