// SPDX-License-Identifier: Apache-2.0
// The figures of memory in use that a program or a tool prints while it works: "step 120 loss 2.1
// mem 18.3GB", "VRAM Total Used Memory (B): 9126805504". They are recognised by what they are made
// of, a label that says whose memory it is, a number, a unit and a counter of steps, so that a
// training loop's own wording is read like that of a known program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace headroom::logs {

enum class MemoryKind {
  allocated,  // Live tensors.
  reserved,   // What the framework's allocator has from the device, in use or not.
  device,     // GPU memory in use, without a word on what for.
  host,       // A process's memory on the host.
};
std::string_view to_string(MemoryKind kind);

struct MemoryFigure {
  MemoryKind kind = MemoryKind::device;
  bool is_peak = false;  // The highest so far ("max_memory_allocated"), and not what it is now.
  std::string label;     // Its words in lower case: "memory allocated".
  std::string device;    // "gpu 0", "rank 1"; empty if the line names none.
  Bytes amount;
  std::optional<Bytes> capacity;  // "13.1/16.0 GiB".
};

// A counter of the work done: "batch 35".
struct WorkStep {
  std::string_view unit;  // A word that fits behind "per": "batch", "step", "iteration".
  std::uint64_t number = 0;
};

struct MemoryLine {
  std::optional<WorkStep> step;
  std::vector<MemoryFigure> figures;  // In their order; at most eight.
};

// Reads one line, or one row of a progress bar. Amounts that say what is free, asked for, or the
// size of a thing are not in use and are left out. "GB" is decimal and "GiB" binary, as written. A
// whole number without a unit counts as bytes if it has seven digits or more, and else as MiB
// behind "mem" or "memory" (pytorch/vision: references/detection/utils.py and open-mmlab/mmengine:
// mmengine/hooks/logger_hook.py print it so). Looks at the first 2000 bytes.
MemoryLine find_memory_figures(std::string_view line);

}  // namespace headroom::logs
