// SPDX-License-Identifier: Apache-2.0
// Follows a job's iterations by their plans, all in the same piece of memory, and tells each
// allocation which slot is its own. A plan was made for one order of events, from which jobs
// deviate. So a slot is handed out only after a check that nothing live lies in it; all that a
// deviation costs is a place in the plan. The plan can even change within an iteration: blocks that
// the previous plan placed stay where they are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/plans/plan.h"

namespace headroom::allocator {

// Not thread-safe: the owner protects it.
class PlanFollower {
 public:
  // The number of a block that lives in the piece. It is used again once the block is gone.
  using Place = std::uint32_t;

  // Begins a new iteration, of which it is not known yet what kind it is. Blocks that are still
  // live keep their places.
  void begin();
  // Switches to this plan, at its allocation `next`. Requires: can_change().
  void follow(PlanPointer plan, std::uint32_t next);
  // False while so many blocks live in the piece that checking every slot against them would be
  // slow.
  bool can_change() const;
  const Plan* plan() const { return plan_.get(); }  // Null if none is followed.
  std::uint32_t next() const { return next_; }      // The allocation that the plan expects.

  // Whether this request may be the plan's next allocation, and its slot is large enough.
  bool expects(std::uint64_t bytes, StreamId stream) const {
    return plan_ && next_ < plan_->size() && plan_->expects(next_, bytes, stream);
  }

  // Returns the place for the next allocation, or nothing if it must go elsewhere.
  std::optional<Place> take(std::uint64_t bytes, StreamId stream);
  void give_back(Place place);

  std::uint64_t offset(Place place) const { return tenants_[place].begin; }
  std::uint64_t size(Place place) const { return tenants_[place].end - tenants_[place].begin; }
  std::vector<Place> live_places() const;  // In the order of their offsets.
  bool is_idle() const { return live_ == 0; }

  // How many requests of this iteration were not in the plan.
  std::uint32_t deviations() const { return deviations_; }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct Tenant {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;   // 0 if the number is unused.
    std::uint32_t slot = 0;  // The plan's slot; `none` if another plan placed it.
    bool is_late = false;    // It is live although the plan says that it is gone by now.
  };

  std::optional<std::uint32_t> match(std::uint64_t bytes, StreamId stream);
  void expire_to(std::uint32_t allocation);
  void become_late(Place place);
  bool is_clear(std::uint64_t begin, std::uint64_t end) const;
  Place occupy(const Tenant& tenant);

  PlanPointer plan_;
  std::vector<Tenant> tenants_;
  std::vector<Place> unused_;   // Unused numbers in tenants_.
  std::vector<Place> in_slot_;  // Indexed by the plan's slots; `none` in an empty slot.
  std::vector<Place> late_;
  std::uint32_t next_ = 0;
  std::uint32_t expired_to_ = 0;  // Slots that expire up to this allocation were looked at.
  std::uint32_t live_ = 0;
  std::uint32_t deviations_ = 0;
  bool is_smaller_ = false;  // This iteration has smaller blocks than the plan.
};

}  // namespace headroom::allocator
