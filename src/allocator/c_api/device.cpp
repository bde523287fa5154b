// SPDX-License-Identifier: Apache-2.0
#include "allocator/c_api/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "allocator/backends/cuda_driver.h"
#include "allocator/backends/device_backend.h"
#include "allocator/backends/hip_driver.h"
#include "allocator/backends/host.h"
#include "allocator/backends/host_verdict.h"
#include "allocator/backends/self_test_cache_file.h"
#include "allocator/backends/virtual_memory_verdict.h"
#include "allocator/simulated_backend.h"
#include "knowledge/virtual_memory.h"

namespace headroom::allocator::c_api {
namespace {

bool is_off(const headroom_allocator_options& options) {
  return options.virtual_memory == HEADROOM_VIRTUAL_MEMORY_OFF;
}

Error not_earned(const std::string& why) {
  return {Errc::unsupported, "expected virtual memory that passed its self-test, found " + why,
          "create the allocator with HEADROOM_VIRTUAL_MEMORY_AS_TESTED"};
}

// What self-tests found here. A file that was named must make sense; of the user's own, `problem`
// is told why it does not, and it counts for nothing.
Result<SelfTestCache> read_self_tests(const headroom_allocator_options& options,
                                      std::string& problem) {
  if (options.self_test_path != nullptr) return read_self_test_cache(options.self_test_path);
  auto kept = read_self_test_cache(self_test_path_of_caller());
  if (kept) return kept;
  problem = kept.error().message;
  return SelfTestCache{};
}

// Why host memory is not remapped; nothing: it is.
Result<std::optional<std::string>> find_refusal(const headroom_allocator_options& options) {
  if (is_off(options)) return std::optional<std::string>("virtual memory is switched off");
  std::string problem;  // It speaks against nothing here.
  HEADROOM_TRY(const SelfTestCache results, read_self_tests(options, problem));
  auto refusal = find_host_refusal(results, running_kernel());
  if (refusal) refusal = "without virtual memory: " + *refusal;
  return refusal;
}

Result<OpenDevice> open_host(const headroom_allocator_options& options) {
  HEADROOM_TRY(const std::optional<std::string> refusal, find_refusal(options));
  if (refusal && options.virtual_memory == HEADROOM_VIRTUAL_MEMORY_REQUIRED)
    return not_earned(*refusal);
  const auto mode = refusal ? HostBackend::VirtualMemory::off : HostBackend::VirtualMemory::on;
  HEADROOM_TRY(auto backend, HostBackend::create(mode));
  return OpenDevice{std::move(backend), "host memory", refusal.value_or("with virtual memory")};
}

OpenDevice open_simulated(const headroom_allocator_options& options) {
  auto backend = std::make_unique<SimulatedBackend>(SimulatedBackend::default_page_limit,
                                                    is_off(options)
                                                        ? SimulatedBackend::without_virtual_memory()
                                                        : SimulatedBackend::assumed_capabilities());
  return {std::move(backend), "a simulated device",
          is_off(options) ? "virtual memory is switched off" : "with virtual memory"};
}

Result<VirtualMemoryVerdict> judge(const headroom_allocator_options& options, Driver& driver) {
  if (is_off(options))
    return VirtualMemoryVerdict{
        VirtualMemoryVerdict::Use::no, "virtual memory is switched off", {}};
  std::string problem;
  HEADROOM_TRY(const SelfTestCache cache, read_self_tests(options, problem));
  HEADROOM_TRY(const auto denials, knowledge::load_virtual_memory());
  const std::string target = options.gpu_target != nullptr ? options.gpu_target : "";
  // gcnArchName has features after a colon: "gfx90a:sramecc+:xnack-".
  const VirtualMemoryKey key =
      options.backend == HEADROOM_BACKEND_HIP
          ? hip_key(driver, target.substr(0, target.find(':')), running_kernel())
          : cuda_key(driver);
  VirtualMemoryVerdict verdict = virtual_memory_verdict(key, cache, denials);
  if (verdict.use != VirtualMemoryVerdict::Use::yes)
    verdict.why = "without virtual memory: " + verdict.why;
  if (!problem.empty()) verdict.why += "; " + problem;
  return verdict;
}

Result<OpenDevice> open_gpu(const headroom_allocator_options& options) {
  const bool is_hip = options.backend == HEADROOM_BACKEND_HIP;
  HEADROOM_TRY(std::unique_ptr<Driver> driver,
               is_hip ? open_hip(options.device) : open_cuda(options.device));
  HEADROOM_TRY(const VirtualMemoryVerdict verdict, judge(options, *driver));
  if (options.virtual_memory == HEADROOM_VIRTUAL_MEMORY_REQUIRED &&
      verdict.use != VirtualMemoryVerdict::Use::yes)
    return not_earned(verdict.why);
  const auto gpu = driver->gpu_name();
  OpenDevice device;
  device.name = fmt::format("{} by {}", gpu ? *gpu : "a GPU", driver->name());
  device.virtual_memory = verdict.why;
  if (const auto pci = driver->pci_address()) device.pci = *pci;
  device.count = [driver = driver.get()] { return driver->memory_info(); };
  device.backend = std::make_unique<DeviceBackend>(std::move(driver), verdict);
  return device;
}

}  // namespace

Result<OpenDevice> open_device(const headroom_allocator_options& options) {
  switch (options.backend) {
    case HEADROOM_BACKEND_HOST:
      return open_host(options);
    case HEADROOM_BACKEND_SIMULATED:
      return open_simulated(options);
    default:
      return open_gpu(options);
  }
}

}  // namespace headroom::allocator::c_api
