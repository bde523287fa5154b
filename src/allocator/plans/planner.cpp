// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/planner.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/mutex.h"
#include "base/require.h"

namespace headroom::allocator {
namespace {

// A wait of so many iterations does not end in practice, so it need not grow further.
constexpr std::uint64_t max_backoff = 1U << 20U;

// A plan is wanted for so many iterations after a miss. A job that has gone on without one has no
// use for it.
constexpr std::uint64_t most_patience = 16;

// The limit on searches for a plan in one iteration. Without it an iteration of an unknown kind
// would be compared with all plans again and again.
constexpr std::uint32_t max_choices = 8;

// If the piece cannot be broken up without loss, an iteration with more deviations than this
// abandons its plan.
constexpr std::uint32_t most_deviations = 32;

// If the piece cannot be broken up without loss, a job must have repeated this many allocations
// before it gets a plan.
constexpr std::uint64_t least_repeated = 128;

// Where iterations differ, pages are moved for a piece if they are at most 1/moved_part of those
// that repairs moved since the last one.
constexpr std::uint64_t moved_part = 2;

}  // namespace

struct Planner::Job {
  Iteration iteration;
  Iteration smallest;
  PlanPointer known;
  std::uint64_t least_bytes = 0;
  Mutex mutex;
  PlanPointer plan HEADROOM_GUARDED_BY(mutex);  // Set when the work is done.

  PlanPointer result() {
    const MutexLock lock(mutex);
    return plan;
  }
};

std::optional<Planner::Slot> Planner::take_slot(std::uint64_t bytes, StreamId stream) {
  const bool is_first = std::exchange(is_border_, false);
  if (is_first || is_unknown_ || !follower_->expects(bytes, stream))
    choose(bytes, stream, is_first);
  if (is_unknown_) return std::nullopt;
  const auto place = follower_->take(bytes, stream);
  if (!place) return std::nullopt;
  // Small blocks get no place in the piece: a loss that the job keeps for good could take a slot of
  // similar size, and would then pin the whole piece.
  if (bytes <= small_block_bytes) {
    follower_->give_back(*place);
    return std::nullopt;
  }
  ++counts_.planned;
  return Slot{core_->segment(piece_).address + follower_->offset(*place), *place};
}

// Looks for another plan, at the beginning of an iteration or when a request is not what the plan
// expects next: the iteration may be of another kind.
void Planner::choose(std::uint64_t bytes, StreamId stream, bool is_first) {
  const auto begun = finder_.current();
  const bool is_in_step = follower_->next() == begun.size() && follower_->can_change();
  if (is_in_step && choices_ < max_choices) {
    ++choices_;
    if (follow(choose_from_book(begun, bytes, stream), begun.size())) return;
  }
  // Blocks of an unplanned iteration could stay in the piece for a long time.
  if (!core_->breaks_up_well() && follower_->deviations() > most_deviations) is_unknown_ = true;
  const Plan* plan = follower_->plan();
  const bool is_over =
      is_first || is_unknown_ || plan == nullptr || follower_->next() == plan->size();
  if (!is_over || !follower_->is_idle()) return;
  follower_->begin();
  // The finder may have missed a border: when nothing of the last iteration is left in the piece,
  // any request may be the first of the next one. This is assumed only if plans were right before.
  // Otherwise a part of an iteration could be taken for a whole one, and blocks that last would get
  // into the piece.
  is_unknown_ = !has_served_ || !follow(choose_from_book({}, bytes, stream), 0);
}

PlanPointer Planner::choose_from_book(std::span<const IterationBlock> begun, std::uint64_t bytes,
                                      StreamId stream) {
  const IterationKinds::Kind* expected = kinds_.expected();
  return book_.choose(begun, bytes, stream, piece(),
                      expected != nullptr ? &expected->smallest : nullptr);
}

bool Planner::follow(PlanPointer plan, std::size_t next) {
  if (!plan) return false;
  is_unknown_ = false;
  follower_->follow(std::move(plan), static_cast<std::uint32_t>(next));
  return true;
}

// Counts the misses that a plan would have avoided. Without virtual memory every call to the device
// may synchronise it, so growths count as well.
std::uint64_t Planner::misses() const {
  const MissCounts& counts = core_->counts();
  const std::uint64_t growths = core_->breaks_up_well() ? 0 : counts.growths;
  return counts.repairs + counts.flushes + growths;
}

// Whether a plan is worth its piece. If the piece cannot be broken up without loss, the iteration
// must be likely to come again; a few blocks that repeat a few times are most often only a part of
// one.
bool Planner::is_likely_to_come_again(const IterationKinds::Kind& kind) const {
  if (core_->breaks_up_well()) return true;
  const bool comes_again = kind.count > 1 || finder_.repeats();
  return comes_again &&
         std::max<std::uint64_t>(kind.count, 2) * kind.smallest.size() >= least_repeated;
}

void Planner::at_border() {
  ++counts_.iterations;
  core_->note_iteration();
  // Growths up to the first border do not count: with a plan the memory would have been taken as
  // well.
  const MissCounts& all = core_->counts();
  const bool missed = counts_.iterations == 1 ? all.repairs + all.flushes > 0 : misses() > misses_;
  misses_ = misses();
  if (missed) last_miss_ = counts_.iterations;
  const bool is_recent = counts_.iterations <= last_miss_ + most_patience;
  is_wanted_ = (missed || (is_wanted_ && is_recent)) && !core_->is_at_ease();
  if (finder_.is_wider()) leave_narrower();
  is_border_ = true;
  const IterationKinds::Kind& kind = kinds_.note(finder_.last());
  collect_plan();
  const bool is_known = book_.find(finder_.last()) != nullptr;
  if (!is_known && is_wanted_ && !job_ && is_likely_to_come_again(kind)) start_job(kind);
  collect_plan();
  finder_.set_planned(!book_.is_empty());
  choices_ = 0;
  is_unknown_ = false;
  if (follower_) {
    follower_->begin();
    if (is_kept(is_known, missed)) return;
    drop_idle_plan();
  }
  if (follower_ || book_.is_empty() || !is_wanted_) return;
  if (wait_ > 0)
    --wait_;
  else
    adopt();
}

// Whether the present piece is kept for the next iteration.
bool Planner::is_kept(bool is_known, bool missed) {
  if (book_.bytes() > piece().bytes && is_wanted_) return false;
  if (is_known) {
    has_served_ = true;
    backoff_ = 1;
  }
  return is_known || !missed || follower_->is_idle();
}

// Drops the plans of iterations that turned out to be parts of a wider one. Whether they failed
// says little about the wider one, so nothing is held against it.
void Planner::leave_narrower() {
  is_wanted_ = is_wanted_ || job_ || counts_.plans > 0;
  book_ = {};
  job_.reset();
  wait_ = 0;
  if (!follower_) return;
  follower_->begin();
  drop_idle_plan();
}

// Has one plan computed at a time. A job whose iterations all differ would otherwise queue plans
// without end.
void Planner::start_job(const IterationKinds::Kind& kind) {
  job_ = std::make_shared<Job>();
  job_->iteration = finder_.last();
  job_->smallest = kind.smallest;
  job_->known = book_.alike(finder_.last());
  job_->least_bytes = core_->least_planned_bytes();
  const auto work = [job = job_] {
    PlanPointer plan = plan_for(job->iteration, job->smallest, job->known, job->least_bytes);
    const MutexLock lock(job->mutex);
    job->plan = std::move(plan);
  };
  if (executor_)
    executor_(work);
  else
    work();
}

void Planner::collect_plan() {
  PlanPointer plan = job_ ? job_->result() : nullptr;
  if (!plan) return;
  book_.add(std::move(plan));
  job_.reset();
}

// Whether the pages that have to move for the piece are few against those that moved without it.
// Where iterations differ nobody knows whether a plan will save anything, so at first it may only
// cost what repairs have cost anyway.
bool Planner::is_worth_moving(std::uint64_t bytes, StreamId stream) {
  if (finder_.repeats()) return true;
  const std::uint64_t moved = core_->counts().moved_pages - moved_pages_;
  return core_->pages_to_move(bytes, stream) <= moved / moved_part;
}

// Takes a piece that is large enough for the largest plan, and so for all of them.
void Planner::adopt() {
  const std::uint64_t bytes = round_up(book_.bytes(), granule_bytes);
  const StreamId stream = book_.stream();
  SegmentId found = bytes > 0 ? core_->find_ready(bytes, stream) : no_segment;
  if (bytes > 0 && found == no_segment && !is_worth_moving(bytes, stream)) return;
  if (bytes > 0 && found == no_segment) found = core_->find(bytes, stream);
  misses_ = misses();
  if (found == no_segment) {
    book_.drop_from(book_.bytes());  // There is no room for the largest.
    back_off();
    return;
  }
  core_->segment(found).stream = stream;
  piece_ = found;
  follower_ = std::make_unique<PlanFollower>();
  is_wanted_ = false;
  has_served_ = false;
  moved_pages_ = core_->counts().moved_pages;
  ++counts_.plans;
}

void Planner::back_off() {
  wait_ = backoff_;
  backoff_ = std::min(backoff_ * 2, max_backoff);
}

PlanBook::Piece Planner::piece() const {
  const Segment& segment = core_->segment(piece_);
  return {segment.bytes, segment.stream};
}

void Planner::drop_idle_plan() {
  if (!follower_->is_idle()) return;
  core_->release(piece_);
  piece_ = no_segment;
  follower_.reset();
}

void Planner::drop_unused() {
  require(is_unused(), "nothing lives in the piece that is dropped");
  drop_idle_plan();
  if (!has_served_) back_off();
}

std::uint64_t Planner::held_bytes() const {
  return follower_ ? core_->segment(piece_).bytes : 0;
}

std::vector<Planner::Moved> Planner::break_up() {
  std::vector<Tiling::Piece> pieces;
  const std::vector<std::uint32_t> slots = follower_->live_places();
  const Address start = core_->segment(piece_).address;
  for (const std::uint32_t slot : slots)
    pieces.push_back({start + follower_->offset(slot), follower_->size(slot)});
  const std::vector<SegmentId> segments = core_->carve_up(piece_, pieces);
  std::vector<Moved> moved;
  for (std::size_t i = 0; i < slots.size(); ++i) moved.push_back({slots[i], segments[i]});
  piece_ = no_segment;
  follower_.reset();
  ++counts_.broken;
  if (!has_served_) back_off();
  return moved;
}

}  // namespace headroom::allocator
