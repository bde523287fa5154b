// SPDX-License-Identifier: Apache-2.0
// Reads the file that torch.cuda.memory._dump_snapshot writes into a Snapshot of one of its
// devices. It understands the pickles that Python (torch/csrc/cuda/Module.cpp,
// THCPModule_memorySnapshot) and C++ (memory_snapshot.cpp) write in torch 2.1 to 2.11, by the names
// of their keys: keys that later versions add are ignored, and what older ones lack is left empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "allocator/snapshot/snapshot.h"
#include "base/result.h"

namespace headroom::allocator {

// How much a file has about one device.
struct SnapshotDevice {
  std::uint32_t device = 0;
  std::uint64_t segments = 0;
  std::uint64_t events = 0;
};

struct SnapshotReading {
  Snapshot snapshot;
  std::vector<SnapshotDevice> devices;  // Devices with any content, in the order of their numbers.
};

// Reads the device asked for, else the one with the most events. Owners are named after the
// innermost line of the program that is not in a library ("train.py:31 forward"), and have a
// component if headroom wrote the file. Fails if the text is no plain pickle (pickle.h) or no
// snapshot, or has nothing about the device.
Result<SnapshotReading> read_snapshot(std::string_view text,
                                      std::optional<std::uint32_t> device = std::nullopt);

}  // namespace headroom::allocator
