// SPDX-License-Identifier: Apache-2.0
// The file that torch.cuda.memory._dump_snapshot writes, as a Snapshot of one of its devices. Read
// are the pickles of Python (torch/csrc/cuda/Module.cpp, THCPModule_memorySnapshot) and of C++
// (memory_snapshot.cpp) of torch 2.1 to 2.11, by the names of the keys: what later versions add is
// passed over, what older ones lack is left empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "allocator/snapshot/snapshot.h"
#include "base/result.h"

namespace headroom::allocator {

// What a file has of one device.
struct SnapshotDevice {
  std::uint32_t device = 0;
  std::uint64_t segments = 0;
  std::uint64_t events = 0;
};

struct SnapshotReading {
  Snapshot snapshot;
  std::vector<SnapshotDevice> devices;  // Those that have anything, by number.
};

// Of the device asked for, else of the one with the most events. Owners are named after the
// innermost line of the program that is not in a library ("train.py:31 forward"), and tagged where
// headroom wrote the file. Fails on what is no plain pickle (pickle.h), no snapshot, or has nothing
// of the device.
Result<SnapshotReading> read_snapshot(std::string_view text,
                                      std::optional<std::uint32_t> device = std::nullopt);

}  // namespace headroom::allocator
