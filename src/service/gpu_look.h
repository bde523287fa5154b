// SPDX-License-Identifier: Apache-2.0
// Whether the processes of a service use a GPU: by KFD's list of processes and by the DRM clients
// of each. Only files are read, and none that wakes a sleeping GPU.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "deploy/judge.h"
#include "machine/files.h"

namespace headroom::service {

// Looks as often as it is told to, and keeps the highest. One thread.
class GpuLook {
 public:
  // `files`: of the machine whose GPU it is; must outlive this. In a container KFD's PIDs are those
  // of the host, so that a process that is not found there proves nothing.
  GpuLook(const machine::Files& files, bool in_container)
      : files_(files), in_container_(in_container) {}

  // At the processes of the service as they are now.
  void look(const std::vector<std::uint64_t>& pids);
  // What was seen so far.
  deploy::GpuUse use() const;

 private:
  void look_at_kfd(const std::vector<std::uint64_t>& pids);
  void look_at_clients(const std::vector<std::uint64_t>& pids);
  Bytes kfd_memory_of(std::uint64_t pid);

  const machine::Files& files_;
  bool in_container_;
  std::string kfd_missing_;  // Why KFD's list could not be read; empty: it was.
  bool on_kfd_ = false;
  Bytes kfd_vram_, drm_vram_, gtt_;  // The highest seen.
  bool saw_clients_ = false;
  // Nanoseconds of work, by client and by engine; a counter never goes back.
  std::map<std::pair<std::string, std::string>, std::uint64_t> busy_ns_;
};

// The counters "drm-engine-NAME: N ns" of a client (the kernel's
// Documentation/gpu/drm-usage-stats.rst), by the engine's name.
std::map<std::string, std::uint64_t> parse_engine_times(std::string_view fdinfo);

}  // namespace headroom::service
