// SPDX-License-Identifier: Apache-2.0
// What a log tells about a GPU's memory from outside the job: the kernel's sizes, the tables of
// rocm-smi and amd-smi, the pools of rocminfo, and who has the device open; and how much the job
// itself believed was free.
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
  Bytes vram;         // Zero if it is not told.
  bool told = false;  // Its VRAM is told; it may be zero.
  const logs::Observation* seen = nullptr;
};

struct DeviceMemory {
  // VRAM and GTT as the driver counts them; an APU's VRAM is its carve-out. If there are several
  // GPUs, those of the one with the most in use.
  std::optional<SeenAmount> vram_total, vram_used, gtt_total, gtt_used;
  std::optional<SeenAmount> pool;                 // What ROCm offers, from rocminfo.
  std::optional<SeenAmount> ram;                  // Without an APU's carve-out.
  std::optional<SeenAmount> ttm_limit;            // The present setting, which may not be in force.
  std::optional<SeenAmount> job_total, job_free;  // As the program itself read them.
  std::optional<SeenAmount> hip_total;            // What HIP's own calls give as the whole.
  std::optional<SeenAmount> hip_free;             // From a separate call of hipMemGetInfo.
  std::optional<SeenAmount> ram_available;        // /proc/meminfo's MemAvailable.
  const logs::Observation* no_processes = nullptr;  // "No KFD PIDs currently running".
  std::vector<SeenHolder> holders;
  bool unified = false;  // Whether the job's GPU is an APU's.
  // A tool tells which part of the VRAM is in use, and nothing tells the card's size: of vram_total
  // and vram_used only the ratio is known.
  bool is_share = false;

  // The part of the VRAM that is in use; nothing if it is not told.
  std::optional<double> used_part() const;
  // The line of a list in which processes have the GPU open, and none of them has any of its
  // memory; else nullptr.
  const logs::Observation* holders_without_memory() const;
};

DeviceMemory device_memory(const LogSubject& subject);

// The listed process that wrote `line`, by the PID in the line's prefix ("(Worker pid=41877)");
// nullptr if there is none.
const SeenHolder* writer_of(const DeviceMemory& memory, const logs::Observation& line);

}  // namespace headroom::findings
