// SPDX-License-Identifier: Apache-2.0
// Finds who owns a block from the call stack that the snapshot has for it. Thousands of blocks
// share a stack, so each stack is looked at once. Only snapshot_reader.h uses this.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "allocator/snapshot/pickle.h"
#include "allocator/snapshot/snapshot.h"

namespace headroom::allocator {

class SnapshotOwners {
 public:
  // Both outlive the object. Names are added to `names`, which already has the empty name.
  SnapshotOwners(const Pickle& pickle, std::vector<std::string>& names)
      : pickle_(&pickle), names_(&names) {}

  // `frames` is a list of dicts with name, filename and line, the innermost call first; anything
  // else has no owner.
  SnapshotOwner owner_of(PickleValue frames);

 private:
  SnapshotOwner look_at(PickleValue frames);
  std::uint32_t number_of(std::string name);

  const Pickle* pickle_;
  std::vector<std::string>* names_;
  std::unordered_map<std::size_t, SnapshotOwner> known_;  // Keyed by the list's identity.
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

// The name of the frame that marks a block's component in files that headroom writes begins with
// this.
inline constexpr std::string_view component_frame_prefix = "headroom: ";

}  // namespace headroom::allocator
