// SPDX-License-Identifier: Apache-2.0
// Follows a layout through the iterations of a job: tells each allocation which slot is its own.
// The layout was made for one order of events, and jobs deviate from it: a slot is handed out only
// after a check that nothing live lies in it, so a deviation costs a place outside the plan and
// nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/iteration.h"
#include "allocator/layout.h"

namespace headroom::allocator {

// Not thread-safe: whoever owns it protects it.
class PlanFollower {
 public:
  // `iteration`: the sizes that the slots have; requires lay_out() to have been given the same.
  PlanFollower(Iteration iteration, Layout layout);

  // A new iteration begins. What is still live of the last one keeps its place.
  void begin();

  // Whether the plan has exactly this as the next allocation.
  bool expects(std::uint64_t bytes, StreamId stream) const {
    return next_ < iteration_.size() && iteration_[next_].bytes == bytes &&
           iteration_[next_].stream == stream;
  }

  // The number of the slot for the next allocation, or nothing: then it belongs elsewhere.
  std::optional<std::uint32_t> take(std::uint64_t bytes, StreamId stream);
  void give_back(std::uint32_t slot);

  std::uint64_t offset(std::uint32_t slot) const { return layout_.offsets[slot]; }
  std::uint64_t size(std::uint32_t slot) const { return sizes_[slot]; }  // Of what lives there.
  std::uint64_t bytes() const { return layout_.bytes; }
  std::vector<std::uint32_t> live_slots() const;
  bool is_idle() const { return live_ == 0; }

  const Iteration& iteration() const { return iteration_; }
  // Allocations of this iteration that met their slot with another size, or did not meet any.
  std::uint32_t deviations() const { return deviations_; }

 private:
  // Late: live although the plan says that it is free by now.
  enum class State : std::uint8_t { free, live, late };

  std::optional<std::uint32_t> match(std::uint64_t bytes, StreamId stream);
  void expire_to(std::uint32_t allocation);
  bool is_clear(std::uint32_t slot) const;
  std::uint64_t end(std::uint32_t slot) const { return offset(slot) + iteration_[slot].bytes; }

  Iteration iteration_;
  Layout layout_;
  // The slots that must be free before allocation k: expiring_[first_expiring_[k]] and on.
  std::vector<std::uint32_t> first_expiring_;
  std::vector<std::uint32_t> expiring_;
  std::vector<State> states_;         // By slot.
  std::vector<std::uint64_t> sizes_;  // Of what lives in them, by slot.
  std::vector<std::uint32_t> late_;
  std::uint32_t next_ = 0;        // The allocation that the plan expects.
  std::uint32_t expired_to_ = 0;  // What dies before this allocation was looked at.
  std::uint32_t live_ = 0;
  std::uint32_t deviations_ = 0;
};

}  // namespace headroom::allocator
