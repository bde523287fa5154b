// SPDX-License-Identifier: Apache-2.0
// Who owns a block, out of the stack of calls that a snapshot has for it. Stacks are shared by
// thousands of blocks, so each is looked at once. For snapshot_reader.h alone.
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
  // Both outlive the object; names are added to `names`, which has the empty one.
  SnapshotOwners(const Pickle& pickle, std::vector<std::string>& names)
      : pickle_(&pickle), names_(&names) {}

  // `frames`: a list of dicts with name, filename and line, the innermost call first; of anything
  // else the owner is nobody.
  SnapshotOwner owner_of(PickleValue frames);

 private:
  SnapshotOwner look_at(PickleValue frames);
  std::uint32_t number_of(std::string name);

  const Pickle* pickle_;
  std::vector<std::string>* names_;
  std::unordered_map<std::size_t, SnapshotOwner> known_;  // By the list's identity.
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

// The frame by which headroom marks a block's component in the files that it writes.
inline constexpr std::string_view component_frame_prefix = "headroom: ";

}  // namespace headroom::allocator
