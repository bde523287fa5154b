// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/virtual_memory_verdict.h"

#include <fmt/format.h>

namespace headroom::allocator {
namespace {

using Use = VirtualMemoryVerdict::Use;

constexpr const char* host_memory = "host memory";

std::string name_of(const VirtualMemoryKey& key) {
  if (key.gpu == host_memory) return key.gpu + " with Linux " + key.driver;
  std::string name = key.gpu;
  if (!key.runtime.empty()) name += " with HIP " + key.runtime;
  return name + (key.driver.empty() ? "" : " and driver " + key.driver);
}

}  // namespace

VirtualMemoryVerdict virtual_memory_verdict(
    const VirtualMemoryKey& key, const SelfTestCache& cache,
    const std::vector<knowledge::VirtualMemoryDenial>& denials) {
  if (const auto* denial = knowledge::find_denial(denials, key.gpu, key.runtime)) {
    return {Use::no,
            fmt::format("{} is known to lose data ({}): {}", name_of(key), denial->origin.source,
                        denial->happens),
            {}};
  }
  // A result for an unknown GPU or driver would still be trusted after a change of either.
  if (key.gpu.empty() || key.driver.empty())
    return {Use::test_needed, "which GPU and driver this is could not be told", {}};
  const SelfTestResult* result = cache.find(key);
  if (result == nullptr)
    return {Use::test_needed,
            fmt::format("{} was not tested here yet (headroom test --virtual-memory does)",
                        name_of(key)),
            {}};
  if (result->report.passed)
    return {Use::yes, fmt::format("{} passed its self-test on {}", name_of(key), result->when),
            result->report.measured};
  const SelfTestStep failed =
      result->report.steps.empty() ? SelfTestStep{} : result->report.steps.back();
  return {Use::no,
          fmt::format("{} failed its self-test on {} ({}: {})", name_of(key), result->when,
                      failed.name, failed.found),
          {}};
}

VirtualMemoryKey hip_key(Driver& driver, const std::string& gfx, const std::string& kernel) {
  const auto version = driver.version();
  return {gfx, kernel, version ? hip_release(*version) : ""};
}

VirtualMemoryKey cuda_key(Driver& driver) {
  const auto name = driver.gpu_name();
  const auto version = driver.version();
  // cuDriverGetVersion: 1000 · major + 10 · minor.
  return {name ? *name : "",
          version ? fmt::format("{}.{}", *version / 1000, *version % 1000 / 10) : "", ""};
}

VirtualMemoryKey host_key(const std::string& kernel) {
  return {host_memory, kernel, ""};
}

std::string hip_release(int version) {
  return fmt::format("{}.{}.{}", version / 10'000'000, version / 100'000 % 100, version % 100'000);
}

}  // namespace headroom::allocator
