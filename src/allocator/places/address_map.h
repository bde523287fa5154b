// SPDX-License-Identifier: Apache-2.0
// Maps the address of a live block to what its policy knows about it. It is an open-addressing
// table with linear probing, because every free looks up here and a node-based map would cost more
// than the rest of the free.
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/places/segment.h"

namespace headroom::allocator {

// find() returns `none` for an address that is not in the table.
template <class Value, Value none>
class AddressTable {
 public:
  AddressTable() : slots_(initial_slots) {}

  // Requires: `address` is not 0 and not in the map.
  void insert(Address address, Value value) {
    if (size_ * 4 > mask_) grow();
    place(address, value);
    ++size_;
  }

  Value find(Address address) const {
    for (std::size_t i = home(address);; i = next(i)) {
      if (slots_[i].address == address) return slots_[i].value;
      if (slots_[i].address == 0) return none;
    }
  }

  // Requires: `address` is in the map.
  void erase(Address address) { take(address); }
  // Returns the value and erases it, if it is there; address 0 never is. Entries that were
  // displaced past it move back, so that no tombstones pile up.
  Value take(Address address) {
    if (address == 0) return none;
    std::size_t gap = home(address);
    while (slots_[gap].address != address) {
      if (slots_[gap].address == 0) return none;
      gap = next(gap);
    }
    const Value taken = slots_[gap].value;
    for (std::size_t i = next(gap); slots_[i].address != 0; i = next(i)) {
      const std::size_t wanted = home(slots_[i].address);
      const bool reaches_gap = ((i - wanted) & mask_) >= ((i - gap) & mask_);
      if (!reaches_gap) continue;
      slots_[gap] = slots_[i];
      gap = i;
    }
    slots_[gap] = {};
    --size_;
    return taken;
  }

  std::size_t size() const { return size_; }

  // Calls visit(address, value) for all entries, in no particular order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Slot& slot : slots_)
      if (slot.address != 0) visit(slot.address, slot.value);
  }

 private:
  // A power of two, like every size of the table. A quarter of the slots is used at most: with
  // more, searches have one step or two as chance will have it, and a wrong guess costs more than a
  // step.
  static constexpr std::size_t initial_slots = 1024;

  struct Slot {
    Address address = 0;
    Value value = none;
  };

  std::size_t next(std::size_t i) const { return (i + 1) & mask_; }
  std::size_t home(Address address) const {
    // Fibonacci hashing of the granule number.
    return static_cast<std::size_t>(((address / granule_bytes) * 0x9E3779B97F4A7C15U) >> 32U) &
           mask_;
  }
  void place(Address address, Value value) {
    std::size_t i = home(address);
    while (slots_[i].address != 0) i = next(i);
    slots_[i] = {address, value};
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.address != 0) place(slot.address, slot.value);
    }
  }

  std::vector<Slot> slots_;
  std::size_t mask_ = initial_slots - 1;  // The number of slots, less one.
  std::size_t size_ = 0;
};

using AddressMap = AddressTable<SegmentId, no_segment>;

}  // namespace headroom::allocator
