// SPDX-License-Identifier: Apache-2.0
// Reads signs of work that processes have done on GPUs. No single one tells everything: the time of
// engines counts what goes through DRM, KFD counts what its copy engines did, and what shaders do
// on KFD's queues shows only in how busy the whole GPU is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "facts/gpu_work.h"
#include "machine/files.h"

namespace headroom::probe {

struct GpuWork {
  std::vector<facts::ClientWork> clients;  // Each client once.
  std::uint64_t sdma_us = 0;               // sdma_GPUID of KFD's processes, since each began.
  // gpu_busy_percent of the busiest of `folders`; read only where one of the processes uses KFD,
  // so that a sleeping GPU is not woken.
  std::optional<std::uint64_t> busy_percent;
};

// `folders`: where the files of the machine's AMD GPUs are (facts::PciGpu::folder).
GpuWork read_gpu_work(const machine::Files& files, const std::vector<std::uint64_t>& pids,
                      const std::vector<std::string>& folders);

// Those of `pids` that KFD lists, whether they live or have ended.
std::vector<std::uint64_t> find_in_kfd(const machine::Files& files,
                                       const std::vector<std::uint64_t>& pids);

}  // namespace headroom::probe
