// SPDX-License-Identifier: Apache-2.0
// One device's memory as PyTorch's snapshots describe it: the segments that were taken from the
// device, with their blocks, and the events before, oldest first. Read from the pickle of
// torch.cuda.memory._dump_snapshot (snapshot_reader.h) and written in that format for
// pytorch.org/memory_viz (snapshot_writer.h), from a replay or from a flight recorder. The names of
// fields and actions are those of torch/csrc/cuda/memory_snapshot.cpp, torch 2.1 and later.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/component.h"

namespace headroom::allocator {

// Who owns memory: what it is for, and the tensor or the line of the program that asked for it. The
// name is an index in Snapshot::names, since a million events share a few names; 0 is no name.
struct SnapshotOwner {
  Component tag = Component::other;
  std::uint32_t name = 0;

  bool operator==(const SnapshotOwner&) const = default;
};

// `active_awaiting_free`: the program has freed the block, but work on another stream may still use
// it.
enum class SnapshotBlockState : std::uint8_t { active_allocated, active_awaiting_free, inactive };

struct SnapshotBlock {
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;       // As rounded by the allocator.
  std::uint64_t requested_bytes = 0;  // As the program asked.
  SnapshotBlockState state = SnapshotBlockState::inactive;
  SnapshotOwner owner = {};

  bool operator==(const SnapshotBlock&) const = default;
};

struct SnapshotSegment {
  std::uint64_t address = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t stream = 0;  // The stream's handle; 0 is the default stream.
  bool expandable = false;   // It is pages mapped into an address range, not one allocation.
  std::vector<SnapshotBlock> blocks = {};  // In the order of address; they tile the segment.

  bool operator==(const SnapshotSegment&) const = default;
};

enum class SnapshotAction : std::uint8_t {
  alloc,
  free_requested,  // The program freed it.
  free_completed,  // Its memory may be used again.
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  oom,  // The device refused.
  snapshot,
};

struct SnapshotEvent {
  SnapshotAction action = SnapshotAction::alloc;
  std::uint64_t address = 0;  // For an oom: how many bytes the device said were free.
  std::uint64_t bytes = 0;    // For a block: as the program asked; for an oom: what was refused.
  std::uint64_t stream = 0;   // The stream's handle.
  std::uint64_t time_us = 0;  // Since the epoch; 0 if it is not known (before torch 2.2).
  SnapshotOwner owner = {};

  bool operator==(const SnapshotEvent&) const = default;
};

struct Snapshot {
  std::uint32_t device = 0;
  std::vector<SnapshotSegment> segments = {};  // As they were when the snapshot was taken.
  std::vector<SnapshotEvent> events = {};      // The most recent ones; older ones may be lost.
  std::vector<std::string> names = {""};  // Owners' names refer to these; the first is no name.
  std::string settings = {};              // PYTORCH_CUDA_ALLOC_CONF, if the snapshot has it.

  bool operator==(const Snapshot&) const = default;
};

}  // namespace headroom::allocator
