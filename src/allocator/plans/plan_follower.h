// SPDX-License-Identifier: Apache-2.0
// Follows plans through the iterations of a job, all of them in the same piece of memory: tells
// each allocation which slot is its own. A plan was made for one order of events, and jobs deviate
// from it: a slot is handed out only after a check that nothing live lies in it, so a deviation
// costs a place outside the plan and nothing else. So does another plan in the middle of an
// iteration: what was placed by the one before it stays where it is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/plans/plan.h"

namespace headroom::allocator {

// Not thread-safe: whoever owns it protects it.
class PlanFollower {
 public:
  // A block that lives in the piece; the number is used again when it is gone.
  using Place = std::uint32_t;

  // A new iteration begins, and nobody knows yet which. What is still live keeps its place.
  void begin();
  // Follows this plan from its allocation `next` on. Requires: can_change().
  void follow(PlanPointer plan, std::uint32_t next);
  // False while so much lives in the piece that every slot would have to be checked against it.
  bool can_change() const;
  const Plan* plan() const { return plan_.get(); }  // Null: none is followed.
  std::uint32_t next() const { return next_; }      // The allocation that the plan expects.

  // Whether the plan's next allocation is of this kind and has room for it.
  bool expects(std::uint64_t bytes, StreamId stream) const {
    return plan_ && next_ < plan_->size() && plan_->expects(next_, bytes, stream);
  }

  // The place for the next allocation, or nothing: then it belongs elsewhere.
  std::optional<Place> take(std::uint64_t bytes, StreamId stream);
  void give_back(Place place);

  std::uint64_t offset(Place place) const { return tenants_[place].begin; }
  std::uint64_t size(Place place) const { return tenants_[place].end - tenants_[place].begin; }
  std::vector<Place> live_places() const;  // By offset.
  bool is_idle() const { return live_ == 0; }

  // Requests of this iteration that are not what the plan has.
  std::uint32_t deviations() const { return deviations_; }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct Tenant {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;   // 0: nobody.
    std::uint32_t slot = 0;  // Of the plan; `none` where it came by another one.
    bool is_late = false;    // Live although the plan says that it is gone by now.
  };

  std::optional<std::uint32_t> match(std::uint64_t bytes, StreamId stream);
  void expire_to(std::uint32_t allocation);
  void become_late(Place place);
  bool is_clear(std::uint64_t begin, std::uint64_t end) const;
  Place occupy(const Tenant& tenant);

  PlanPointer plan_;
  std::vector<Tenant> tenants_;
  std::vector<Place> unused_;   // Of tenants_.
  std::vector<Place> in_slot_;  // By slot of the plan; `none` where nobody is.
  std::vector<Place> late_;
  std::uint32_t next_ = 0;
  std::uint32_t expired_to_ = 0;  // What dies before this allocation was looked at.
  std::uint32_t live_ = 0;
  std::uint32_t deviations_ = 0;
  bool is_smaller_ = false;  // This iteration, than the plan.
};

}  // namespace headroom::allocator
