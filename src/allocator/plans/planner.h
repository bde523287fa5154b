// SPDX-License-Identifier: Apache-2.0
// Where a job repeats, its blocks get planned places: one piece of memory in which every block of
// an iteration has its offset, so that nothing is searched, split or moved any more. The planner
// watches allocations, finds the iterations, has a plan computed for each kind of them (in the
// background where an executor is given), takes the piece at an iteration's border, and follows in
// it the plan of the iteration that comes, whichever it is.
//
// It never makes a request fail: when memory is short the piece is broken up into what lives in it
// and free memory, and things go on as without a plan.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "allocator/places/core.h"
#include "allocator/plans/iteration_finder.h"
#include "allocator/plans/plan_book.h"
#include "allocator/plans/plan_follower.h"

namespace headroom::allocator {

// Runs a piece of work now or later, once, on any thread. Empty: at once.
using Executor = std::function<void(std::function<void()>)>;

struct PlanCounts {
  std::uint64_t iterations = 0;  // Found.
  std::uint64_t plans = 0;       // Moved over to.
  std::uint64_t planned = 0;     // Allocations that got their slot.
  std::uint64_t broken = 0;      // Plans given up because memory was short.
};

// Not thread-safe: its owner's lock protects it; the executor's work shares nothing with it but a
// result that is handed over under a lock of its own.
class Planner {
 public:
  struct Slot {
    Address address = 0;
    std::uint32_t number = 0;
  };

  // `core` outlives it.
  Planner(Core& core, Executor executor) : core_(&core), executor_(std::move(executor)) {}

  // Before an allocation, of rounded size: its slot, if the plan has one for it.
  std::optional<Slot> take(std::uint64_t bytes, StreamId stream);
  // After an allocation, wherever it went: its number, which note_free() names.
  std::uint64_t note_allocate(std::uint64_t bytes, StreamId stream) {
    return finder_.note_allocate(bytes, stream);
  }
  void note_free(std::uint64_t number, std::uint64_t bytes) { finder_.note_free(number, bytes); }
  void give_back(std::uint32_t slot) { follower_->give_back(slot); }

  // The memory that the plan holds; 0 without one.
  std::uint64_t held_bytes() const;

  // Ends the plan because the memory is needed. What lives in it becomes blocks of the core.
  struct Moved {
    std::uint32_t slot = 0;
    SegmentId segment = no_segment;
  };
  bool has_plan() const { return follower_ != nullptr; }
  // Whether there is a piece in which nothing lives, and the iteration is not one that is planned.
  bool is_unused() const { return follower_ != nullptr && is_unknown_ && follower_->is_idle(); }
  void drop_unused();  // Requires: is_unused().
  std::vector<Moved> break_up();

  const PlanCounts& counts() const { return counts_; }

 private:
  struct Job;  // A layout that is being computed.

  void at_border();
  void leave_narrower();
  void start_job();
  void collect_plan();
  void adopt();
  void choose(std::uint64_t bytes, StreamId stream, bool is_first);
  bool follow(PlanPointer plan, std::size_t next);
  bool is_kept(bool is_known, bool missed);
  void drop_idle_plan();
  void back_off();
  bool is_likely_to_come_again() const;
  std::uint64_t misses() const;
  PlanBook::Piece piece() const;

  Core* core_;
  Executor executor_;
  IterationFinder finder_;
  std::shared_ptr<Job> job_;
  std::unique_ptr<PlanFollower> follower_;
  SegmentId piece_ = no_segment;
  PlanBook book_;
  // The last iteration, each block as small as in any of the same shape that came just before it,
  // and how many those are with it.
  Iteration smallest_;
  std::uint64_t alike_ = 0;
  bool has_served_ = false;    // An iteration went by its plan since the piece was taken.
  bool is_unknown_ = false;    // This iteration is not planned: the piece is left alone.
  bool is_border_ = false;     // The next allocation is the first one of an iteration.
  std::uint32_t choices_ = 0;  // How often a plan was looked for in this iteration.
  std::uint64_t misses_ = 0;   // Of the core, when the last iteration ended.
  bool is_wanted_ = false;     // There was a miss since a plan was last adopted.
  std::uint64_t wait_ = 0;     // Iterations to let pass before the next plan.
  std::uint64_t backoff_ = 1;  // How many those will be when a plan fails next.
  PlanCounts counts_;
};

}  // namespace headroom::allocator
