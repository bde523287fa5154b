// SPDX-License-Identifier: Apache-2.0
#include "cli/earn_virtual_memory.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "allocator/backends/gpu_list.h"
#include "allocator/backends/self_test_cache_file.h"
#include "allocator/backends/self_test_watch.h"
#include "allocator/backends/virtual_memory_verdict.h"
#include "knowledge/virtual_memory.h"
#include "machine/clock.h"
#include "machine/interrupt.h"
#include "machine/private_folders.h"

namespace headroom::cli {
namespace {

using allocator::GpuRuntime;
using allocator::ListedGpu;
using allocator::SelfTestReport;
using report::TestedDevice;
using report::VirtualMemoryReport;
using report::VirtualMemoryUse;

std::string kernel_of(const facts::Facts& facts) {
  return facts.machine.kernel.optional().value_or("");
}

// nullptr where the kernel does not list it, or under another address.
const facts::Gpu* find_gpu(const facts::Facts& facts, const std::string& pci) {
  for (const facts::Gpu& gpu : facts.gpus) {
    if (!pci.empty() && gpu.pci == pci) return &gpu;
  }
  return nullptr;
}

TestedDevice describe(const ListedGpu& listed, GpuRuntime runtime, const facts::Facts& facts) {
  TestedDevice device;
  device.runtime = to_string(runtime);
  device.device = listed.device;
  device.name = listed.name;
  device.pci = listed.pci;
  device.key = listed.key;
  device.why = listed.problem;
  if (runtime == GpuRuntime::cuda) return device;
  device.key.driver = kernel_of(facts);
  if (const facts::Gpu* gpu = find_gpu(facts, listed.pci)) {
    device.name = gpu->name;
    device.key.gpu = gpu->gfx.optional().value_or("");
  }
  return device;
}

std::string title_of(const TestedDevice& device) {
  if (device.is_host()) return device.name;
  return fmt::format("{} (GPU {} of {})", device.name, device.device, device.runtime);
}

void test(TestedDevice& device, const Trial& trial) {
  if (!device.why.empty()) return;  // It could not even be opened.
  if (trial.on_begin) trial.on_begin(title_of(device));
  const bool is_hip = device.runtime == to_string(GpuRuntime::hip);
  const auto open = [&device, is_hip] {
    if (device.is_host()) return allocator::open_host_subject();
    return is_hip ? allocator::open_hip_subject(device.device)
                  : allocator::open_cuda_subject(device.device);
  };
  const auto limits = is_hip ? allocator::hip_self_test_limits : allocator::SelfTestLimits{};
  auto result = allocator::run_watched_self_test(open, limits, trial.timeout_ms);
  if (result) {
    device.result = *std::move(result);
  } else {
    device.why = result.error().message;
  }
}

bool has_gpu(const facts::Facts& facts, GpuRuntime runtime) {
  if (runtime == GpuRuntime::hip) return !facts.gpus.empty();
  for (const facts::OtherGpu& gpu : facts.other_gpus) {
    if (gpu.driver && *gpu.driver == "nvidia") return true;
  }
  return false;
}

void add_gpus(GpuRuntime runtime, const facts::Facts& facts, const Trial& trial,
              VirtualMemoryReport& report) {
  const auto gpus = allocator::list_gpus(runtime, trial.timeout_ms);
  if (!gpus) {
    // A runtime that hung or died here has something that it should not.
    const bool is_there = gpus.error().code != Errc::unsupported || has_gpu(facts, runtime);
    report.absent.push_back({std::string(to_string(runtime)), gpus.error().message, is_there});
    return;
  }
  for (const ListedGpu& gpu : *gpus) report.devices.push_back(describe(gpu, runtime, facts));
}

bool can_be_kept(const allocator::VirtualMemoryKey& key) {
  return !key.gpu.empty() && !key.driver.empty();
}

// Of two devices that nothing tells apart, the one that is relied on for both: what failed, or took
// longer to settle.
const SelfTestReport& worse(const SelfTestReport& one, const SelfTestReport& other) {
  if (one.passed != other.passed) return one.passed ? other : one;
  return one.measured.settle_ns < other.measured.settle_ns ? other : one;
}

// One result for each key.
std::vector<allocator::SelfTestResult> results_of(const std::vector<TestedDevice>& devices) {
  std::vector<allocator::SelfTestResult> results;
  for (const TestedDevice& device : devices) {
    if (!device.result || !can_be_kept(device.key)) continue;
    allocator::SelfTestResult* same = nullptr;
    for (allocator::SelfTestResult& result : results) {
      if (result.key == device.key) same = &result;
    }
    if (same == nullptr) {
      results.push_back(
          {device.key, allocator::self_test_version, machine::utc_now(), *device.result});
    } else {
      same->report = worse(same->report, *device.result);
    }
  }
  return results;
}

Status keep(const std::vector<allocator::SelfTestResult>& results, const Trial& trial) {
  const machine::Interrupt later;  // The file is written whole, and nothing is left beside it.
  if (trial.is_default) HEADROOM_CHECK(machine::make_private_folders_above(trial.path));
  for (const allocator::SelfTestResult& result : results)
    HEADROOM_CHECK(allocator::keep_self_test_result(trial.path, result));
  return Done{};
}

// What the allocator will make of it, by its own rule.
void judge(TestedDevice& device, const allocator::SelfTestCache& cache,
           const std::vector<knowledge::VirtualMemoryDenial>& denials,
           const std::string& not_kept) {
  if (!device.result) return;
  const auto verdict = allocator::virtual_memory_verdict(device.key, cache, denials);
  const bool is_used = verdict.use == allocator::VirtualMemoryVerdict::Use::yes;
  const allocator::SelfTestResult* kept = cache.find(device.key);
  // Its own steps say that better, and of another one's failure this one knows no more.
  const bool another_failed = device.result->passed && kept != nullptr && !kept->report.passed;
  device.why = another_failed ? "another device that cannot be told apart from this one failed, "
                                "and the verdict holds for both"
                              : verdict.why;
  if (!device.result->passed) {
    device.use = VirtualMemoryUse::failed;
  } else if (!can_be_kept(device.key)) {
    device.use = VirtualMemoryUse::not_kept;
  } else if (!is_used) {
    device.use = VirtualMemoryUse::denied;
  } else if (!not_kept.empty()) {
    device.use = VirtualMemoryUse::not_kept;
    device.why = not_kept;
  } else {
    device.use = VirtualMemoryUse::used;
    device.why.clear();
  }
}

}  // namespace

VirtualMemoryReport earn_virtual_memory(const facts::Facts& facts, const Trial& trial) {
  VirtualMemoryReport report;
  report.path = trial.path;
  report.named = !trial.is_default;
  add_gpus(GpuRuntime::hip, facts, trial, report);
  add_gpus(GpuRuntime::cuda, facts, trial, report);
  TestedDevice host;
  host.key = allocator::host_key(kernel_of(facts));
  host.name = host.key.gpu;
  report.devices.push_back(std::move(host));
  for (TestedDevice& device : report.devices) test(device, trial);

  const auto results = results_of(report.devices);
  if (const Status kept = keep(results, trial); !kept) report.not_kept = kept.error().message;
  allocator::SelfTestCache cache;
  for (const allocator::SelfTestResult& result : results) cache.put(result);
  const auto denials = knowledge::load_virtual_memory();
  for (TestedDevice& device : report.devices) {
    judge(device, cache, denials ? *denials : std::vector<knowledge::VirtualMemoryDenial>{},
          report.not_kept);
  }
  return report;
}

}  // namespace headroom::cli
