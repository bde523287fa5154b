// SPDX-License-Identifier: Apache-2.0
// Names of tensors, each kept once and known by a small number, so that a block can carry one in
// two bytes and a report can still say "logits of lm_head".
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/policy.h"
#include "base/mutex.h"

namespace headroom::allocator {

// The name for text and JSON: control characters become "?", and so do all bytes that are not ASCII
// if the name is not UTF-8.
std::string printable_name(std::string_view name);

// The name without the numbers of layers: "layers.*.mlp.up_proj" for "layers.35.mlp.up_proj". Each
// part between points that consists of digits only becomes a "*".
std::string name_pattern(std::string_view name);

// Any thread may call any function. Looking up a known name allocates nothing, but callers that
// allocate often should ask once and keep the number.
class NameTable {
 public:
  static constexpr std::size_t max_names = 65535;
  static constexpr std::size_t max_name_bytes = 255;  // Longer names are cut there.

  NameTable();

  // Returns the number of a name; equal names have the same. Returns 0 for an empty name, and for a
  // new one when the table is full.
  NameId intern(std::string_view name);
  // Empty for a number that was never given out. Valid as long as the table.
  std::string_view name(NameId id) const;
  // How many names there are; their numbers are 1 to size().
  std::size_t size() const;

 private:
  std::size_t place_of(std::string_view name) const HEADROOM_REQUIRES(mutex_);
  void grow() HEADROOM_REQUIRES(mutex_);

  mutable Mutex mutex_;
  // Name n is at n - 1. A deque never moves its elements.
  std::deque<std::string> names_ HEADROOM_GUARDED_BY(mutex_);
  // Open addressing, a power of two of them.
  std::vector<NameId> slots_ HEADROOM_GUARDED_BY(mutex_);
};

}  // namespace headroom::allocator
