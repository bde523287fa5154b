// SPDX-License-Identifier: Apache-2.0
#include "run/command/gpu_watch.h"

#include <algorithm>

#include "probe/read_gpu_work.h"
#include "probe/read_processes.h"

namespace headroom::run {
namespace {

using supervisor::Time;

void add(std::optional<Bytes>& sum, const std::optional<Bytes>& part) {
  if (part) sum = sum.value_or(Bytes{}) + *part;
}

}  // namespace

GpuWatch::GpuWatch(const machine::Files& files, const facts::Facts* facts)
    : files_(files), facts_(facts) {
  if (facts == nullptr) {
    no_memory_ = "the machine could not be looked at";
    return;
  }
  has_gpu_ = !facts->gpus.empty();
  if (!has_gpu_) no_memory_ = "no AMD GPU was found";
  for (const facts::Gpu& gpu : facts->gpus) {
    if (!gpu.folder.empty() && !gpu.asleep()) folders_.push_back(gpu.folder);
  }
}

GpuUse GpuWatch::look(const std::vector<std::uint64_t>& pids, Time now) {
  GpuUse use;
  if (!has_gpu_) return use;
  for (const std::uint64_t pid : probe::find_in_kfd(files_, pids)) seen_.insert(pid);
  add_memory(pids, use);
  add_work(pids, now);
  use.work_ms = work_us_ / 1000;
  return use;
}

void GpuWatch::add_memory(const std::vector<std::uint64_t>& pids, GpuUse& use) const {
  const facts::Processes processes = probe::read_processes_of(files_, pids);
  if (processes.complete) use.vram = use.gtt = Bytes{};
  for (const facts::Gpu& gpu : facts_->gpus) {
    const bool pool_in_gtt = gpu.ladder.route && *gpu.ladder.route == facts::Route::gtt;
    const bool in_container = facts_->machine.container.known();
    for (const auto& holder : facts::find_holders(gpu, processes, pool_in_gtt, in_container)) {
      if (!holder.visible) continue;
      add(use.vram, holder.vram);
      add(use.gtt, holder.gtt);
    }
  }
}

void GpuWatch::add_work(const std::vector<std::uint64_t>& pids, Time now) {
  const probe::GpuWork work = probe::read_gpu_work(files_, pids, folders_);
  for (const facts::ClientWork& client : work.clients) {
    std::uint64_t& before = engines_ns_[{client.pdev, client.client_id}];
    if (client.engines_ns > before) work_us_ += (client.engines_ns - before) / 1000;
    before = std::max(before, client.engines_ns);
  }
  if (work.sdma_us > sdma_us_) work_us_ += work.sdma_us - sdma_us_;
  sdma_us_ = work.sdma_us;  // It falls where a process has ended.
  if (last_ && work.busy_percent && now > *last_) {
    const auto passed_us = static_cast<std::uint64_t>((now - *last_).count()) * 1000;
    work_us_ += passed_us * std::min<std::uint64_t>(*work.busy_percent, 100) / 100;
  }
  last_ = now;
}

std::vector<KfdRemains> GpuWatch::remains() const {
  std::vector<KfdRemains> found;
  if (seen_.empty()) return found;
  const facts::Processes processes = probe::read_processes_of(files_, {});
  for (const facts::KfdProcess& process : processes.kfd) {
    if (!seen_.contains(process.pid)) continue;
    Bytes memory;
    for (const auto& [gpu, bytes] : process.vram) {
      if (bytes) memory += *bytes;
    }
    found.push_back({process.pid, memory});
  }
  return found;
}

}  // namespace headroom::run
