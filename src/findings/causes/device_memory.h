// SPDX-License-Identifier: Apache-2.0
// What a log tells of a GPU's memory from outside the job: the kernel's sizes, the tables of
// rocm-smi and amd-smi, the pools of rocminfo, who has the device open; and what the job itself
// believed was free.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "findings/causes/cause_rule.h"
#include "logs/observation.h"

namespace headroom::findings {

struct SeenAmount {
  Bytes amount;
  const logs::Observation* seen = nullptr;
};

// A process that has the GPU open.
struct SeenHolder {
  std::string pid, program;
  Bytes vram;         // Zero where it is not told.
  bool told = false;  // Its VRAM is, and may be none.
  const logs::Observation* seen = nullptr;
};

struct DeviceMemory {
  // VRAM and GTT as the driver counts them; an APU's VRAM is its carve-out. Of several GPUs the one
  // with the most in use.
  std::optional<SeenAmount> vram_total, vram_used, gtt_total, gtt_used;
  std::optional<SeenAmount> pool;                   // What ROCm offers, by rocminfo.
  std::optional<SeenAmount> ram;                    // Without an APU's carve-out.
  std::optional<SeenAmount> ttm_limit;              // As it is now, which may not be in force.
  std::optional<SeenAmount> job_total, job_free;    // As the program read them.
  std::optional<SeenAmount> hip_free;               // By hipMemGetInfo, asked besides.
  std::optional<SeenAmount> ram_available;          // /proc/meminfo's MemAvailable.
  const logs::Observation* no_processes = nullptr;  // "No KFD PIDs currently running".
  std::vector<SeenHolder> holders;
  bool unified = false;  // The GPU that the job uses is an APU's.

  // Of the VRAM; nothing where it is not told.
  std::optional<double> used_part() const;
  // Processes have the GPU open, the list tells what each has of it, and none has any.
  const logs::Observation* holders_without_memory() const;
};

DeviceMemory device_memory(const LogSubject& subject);

}  // namespace headroom::findings
