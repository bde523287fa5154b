// SPDX-License-Identifier: Apache-2.0
// Gives the blocks of a job that repeats planned places: one piece of memory in which every block
// of an iteration has its offset, so that nothing is searched, split or moved any more. The planner
// watches allocations, finds the iterations, has a plan computed for each kind of them (in the
// background if there is an executor), takes the piece where an iteration begins, and then follows
// the plan for whichever iteration comes.
//
// It never makes a request fail: when memory is short, the piece is broken up into its live blocks
// and free memory, and allocation goes on without a plan.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "allocator/places/core.h"
#include "allocator/plans/iteration_finder.h"
#include "allocator/plans/iteration_kinds.h"
#include "allocator/plans/plan_book.h"
#include "allocator/plans/plan_follower.h"

namespace headroom::allocator {

// Runs a piece of work once, now or later, on any thread. If empty, the planner does the work at
// once.
using Executor = std::function<void(std::function<void()>)>;

struct PlanCounts {
  std::uint64_t iterations = 0;  // Iterations found.
  std::uint64_t plans = 0;       // Pieces taken for plans.
  std::uint64_t planned = 0;     // Allocations that got their slot.
  std::uint64_t broken = 0;      // Pieces broken up because memory was short.
};

// Not thread-safe: the owner's lock protects it. The executor's work shares only a result with it,
// which is handed over under a lock of its own.
class Planner {
 public:
  struct Slot {
    Address address = 0;
    std::uint32_t number = 0;
  };

  // `core` outlives the planner.
  Planner(Core& core, Executor executor) : core_(&core), executor_(std::move(executor)) {}

  // Is called before each allocation; `bytes` is the rounded size. Returns its slot, if the plan
  // has one for it.
  std::optional<Slot> take(std::uint64_t bytes, StreamId stream) {
    if (finder_.ends_here()) at_border();
    if (!follower_) return std::nullopt;
    return take_slot(bytes, stream);
  }
  // Is called after each allocation, wherever it went. Returns its number, which note_free() needs.
  std::uint64_t note_allocate(std::uint64_t bytes, StreamId stream) {
    return finder_.note_allocate(bytes, stream);
  }
  void note_free(std::uint64_t number, std::uint64_t bytes) { finder_.note_free(number, bytes); }
  void give_back(std::uint32_t slot) { follower_->give_back(slot); }

  // How much memory the piece holds; 0 without one.
  std::uint64_t held_bytes() const;

  // break_up() gives up the piece because its memory is needed. What lives in it becomes blocks of
  // the core, and it returns which slot became which segment.
  struct Moved {
    std::uint32_t slot = 0;
    SegmentId segment = no_segment;
  };
  bool has_plan() const { return follower_ != nullptr; }
  // Whether there is a piece that is empty and that the present iteration has no plan for.
  bool is_unused() const { return follower_ != nullptr && is_unknown_ && follower_->is_idle(); }
  void drop_unused();  // Requires: is_unused().
  std::vector<Moved> break_up();

  const PlanCounts& counts() const { return counts_; }

 private:
  struct Job;  // A layout that is being computed.

  std::optional<Slot> take_slot(std::uint64_t bytes, StreamId stream);
  void at_border();
  void leave_narrower();
  void start_job(const IterationKinds::Kind& kind);
  void collect_plan();
  void adopt();
  void choose(std::uint64_t bytes, StreamId stream, bool is_first);
  PlanPointer choose_from_book(std::span<const IterationBlock> begun, std::uint64_t bytes,
                               StreamId stream);
  bool follow(PlanPointer plan, std::size_t next);
  bool is_kept(bool is_known, bool missed);
  void drop_idle_plan();
  void back_off();
  bool is_likely_to_come_again(const IterationKinds::Kind& kind) const;
  bool is_worth_moving(std::uint64_t bytes, StreamId stream);
  std::uint64_t misses() const;
  PlanBook::Piece piece() const;

  Core* core_;
  Executor executor_;
  IterationFinder finder_;
  std::shared_ptr<Job> job_;
  std::unique_ptr<PlanFollower> follower_;
  SegmentId piece_ = no_segment;
  PlanBook book_;
  IterationKinds kinds_;
  bool has_served_ = false;        // An iteration followed a plan since the piece was taken.
  bool is_unknown_ = false;        // This iteration has no plan, so the piece is left alone.
  bool is_border_ = false;         // The next allocation is the first of an iteration.
  std::uint32_t choices_ = 0;      // How often a plan was looked for in this iteration.
  std::uint64_t misses_ = 0;       // The core's misses when the last iteration ended.
  std::uint64_t moved_pages_ = 0;  // Pages that the core had moved when a piece was last taken.
  std::uint64_t last_miss_ = 0;    // The last iteration that had a miss.
  bool is_wanted_ = false;         // There was a miss lately, since a piece was last taken.
  std::uint64_t wait_ = 0;         // Iterations to let pass before taking a piece again.
  std::uint64_t backoff_ = 1;      // What wait_ becomes when a plan fails next.
  PlanCounts counts_;
};

}  // namespace headroom::allocator
