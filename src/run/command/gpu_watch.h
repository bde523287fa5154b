// SPDX-License-Identifier: Apache-2.0
// What the processes of an attempt have of the machine's AMD GPUs: memory, work, and what the
// driver has not given back after they ended. Where there is no such GPU it asks nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "facts/facts.h"
#include "machine/files.h"
#include "supervisor/policy.h"

namespace headroom::run {

struct GpuUse {
  std::optional<Bytes> vram, gtt;  // Nothing where no AMD GPU is known or nothing could be read.
  std::uint64_t work_ms = 0;       // A counter of work, not a measurement; it only grows.
};

// What the driver still holds of a process that has ended.
struct KfdRemains {
  std::uint64_t pid = 0;
  Bytes memory;  // What it counts for it; may be 0.
};

class GpuWatch {
 public:
  // Both outlive this. `facts` may be nullptr: nothing is known of the machine.
  GpuWatch(const machine::Files& files, const facts::Facts* facts);

  bool has_gpu() const { return has_gpu_; }
  // Why no memory can be told, for who reads the report.
  const std::string& no_memory() const { return no_memory_; }
  GpuUse look(const std::vector<std::uint64_t>& pids, supervisor::Time now);
  // Of all that were looked at. Requires: they have ended.
  std::vector<KfdRemains> remains() const;

 private:
  void add_memory(const std::vector<std::uint64_t>& pids, GpuUse& use) const;
  void add_work(const std::vector<std::uint64_t>& pids, supervisor::Time now);

  const machine::Files& files_;
  const facts::Facts* facts_;
  bool has_gpu_ = false;
  std::string no_memory_;
  std::vector<std::string> folders_;
  std::set<std::uint64_t> seen_;  // Processes that KFD listed while they lived.
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> engines_ns_;
  std::uint64_t sdma_us_ = 0;
  std::uint64_t work_us_ = 0;
  std::optional<supervisor::Time> last_;
};

}  // namespace headroom::run
