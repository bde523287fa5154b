// SPDX-License-Identifier: Apache-2.0
#include "allocator/c_api/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "allocator/backends/cuda_driver.h"
#include "allocator/backends/device_backend.h"
#include "allocator/backends/hip_driver.h"
#include "allocator/backends/host.h"
#include "allocator/backends/self_test_cache_file.h"
#include "allocator/backends/virtual_memory_verdict.h"
#include "allocator/simulated_backend.h"
#include "base/text.h"
#include "knowledge/virtual_memory.h"
#include "machine/user_files.h"

namespace headroom::allocator::c_api {
namespace {

bool is_off(const headroom_allocator_options& options) {
  return options.virtual_memory == HEADROOM_VIRTUAL_MEMORY_OFF;
}

// amdgpu comes with the kernel, so its release is the driver's. Empty where it cannot be read.
std::string kernel_release() {
  const auto text = machine::read_file("/proc/sys/kernel/osrelease");
  return text ? std::string(trim(*text)) : "";
}

Result<OpenDevice> open_host(const headroom_allocator_options& options) {
  const auto mode =
      is_off(options) ? HostBackend::VirtualMemory::off : HostBackend::VirtualMemory::on;
  HEADROOM_TRY(auto backend, HostBackend::create(mode));
  return OpenDevice{std::move(backend), "host memory",
                    is_off(options) ? "virtual memory is switched off" : "with virtual memory"};
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
  SelfTestCache cache;
  if (options.self_test_path != nullptr) {
    HEADROOM_TRY(cache, read_self_test_cache(options.self_test_path));
  }
  HEADROOM_TRY(const auto denials, knowledge::load_virtual_memory());
  const std::string target = options.gpu_target != nullptr ? options.gpu_target : "";
  // gcnArchName has features after a colon: "gfx90a:sramecc+:xnack-".
  const VirtualMemoryKey key =
      options.backend == HEADROOM_BACKEND_HIP
          ? hip_key(driver, target.substr(0, target.find(':')), kernel_release())
          : cuda_key(driver);
  VirtualMemoryVerdict verdict = virtual_memory_verdict(key, cache, denials);
  if (verdict.use != VirtualMemoryVerdict::Use::yes)
    verdict.why = "without virtual memory: " + verdict.why;
  return verdict;
}

Result<OpenDevice> open_gpu(const headroom_allocator_options& options) {
  const bool is_hip = options.backend == HEADROOM_BACKEND_HIP;
  HEADROOM_TRY(std::unique_ptr<Driver> driver,
               is_hip ? open_hip(options.device) : open_cuda(options.device));
  HEADROOM_TRY(const VirtualMemoryVerdict verdict, judge(options, *driver));
  if (options.virtual_memory == HEADROOM_VIRTUAL_MEMORY_REQUIRED &&
      verdict.use != VirtualMemoryVerdict::Use::yes)
    return Error{Errc::unsupported,
                 "expected virtual memory that passed its self-test, found " + verdict.why,
                 "create the allocator with HEADROOM_VIRTUAL_MEMORY_AS_TESTED"};
  const auto gpu = driver->gpu_name();
  OpenDevice device;
  device.name = fmt::format("{} by {}", gpu ? *gpu : "a GPU", driver->name());
  device.virtual_memory = verdict.why;
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
