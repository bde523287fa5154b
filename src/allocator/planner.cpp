// SPDX-License-Identifier: Apache-2.0
#include "allocator/planner.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/bytes.h"

namespace headroom::allocator {
namespace {

// Longer waits than this never end in practice.
constexpr std::uint64_t max_backoff = 1U << 20U;

// What a plan would have saved.
std::uint64_t misses_of(const Core& core) {
  return core.counts().repairs + core.counts().flushes;
}

// Whether the same was asked for in the same order, sizes apart.
bool same_shape(const Iteration& a, const Iteration& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.stream == y.stream && x.dies == y.dies;
  });
}

// False if nothing in it grew.
bool grow_to(Iteration& envelope, const Iteration& iteration) {
  bool grew = false;
  for (std::size_t i = 0; i < envelope.size(); ++i) {
    if (iteration[i].bytes <= envelope[i].bytes) continue;
    envelope[i].bytes = iteration[i].bytes;
    grew = true;
  }
  return grew;
}

}  // namespace

struct Planner::Job {
  Iteration iteration;
  std::mutex mutex;
  std::optional<Layout> layout;  // There when it is done.

  bool is_done() {
    const std::scoped_lock lock(mutex);
    return layout.has_value();
  }
};

std::optional<Planner::Slot> Planner::take(std::uint64_t bytes, StreamId stream) {
  if (finder_.ends_here()) at_border();
  if (!follower_) return std::nullopt;
  // Another iteration than the planned one begins: its blocks need the memory more.
  if (!core_->breaks_up_well() && !follower_->expects(bytes, stream)) drop_idle_plan();
  if (!follower_) return std::nullopt;
  const auto slot = follower_->take(bytes, stream);
  if (!slot) return std::nullopt;
  ++counts_.planned;
  return Slot{core_->segment(piece_).address + follower_->offset(*slot), *slot};
}

void Planner::at_border() {
  ++counts_.iterations;
  const bool missed = misses_of(*core_) > misses_;
  misses_ = misses_of(*core_);
  if (finder_.is_wider()) leave_narrower();
  const bool is_known = same_shape(envelope_, finder_.last());
  const bool grew = is_known && grow_to(envelope_, finder_.last());
  if (!is_known) envelope_ = finder_.last();
  // Where the piece cannot be broken up without loss, only a plan that fits exactly is worth it.
  const bool is_exact = envelope_ == finder_.last() && finder_.repeats();
  const bool is_sure = core_->breaks_up_well() || is_exact;
  if (follower_) {
    follower_->begin();
    const bool fits = is_known && !grew && is_sure;
    if (fits) backoff_ = 1;
    if (fits || (is_sure && !missed)) return;
    drop_idle_plan();
  }
  if (follower_) return;
  if (!is_sure) envelope_ = finder_.last();
  if (wait_ > 0) {
    --wait_;
    return;
  }
  // One at a time: a job whose every iteration is another would queue them without end.
  is_wanted_ = is_wanted_ || missed;
  if (job_ && job_->is_done() && job_->iteration != envelope_) job_.reset();
  if (!job_ && is_wanted_ && is_sure) start_job();
  if (!job_ || !job_->is_done()) return;
  adopt(*job_);
  job_.reset();
}

// What was planned is a part of what repeats. Its plan is of no use any more, and that it failed
// says little about the wider one.
void Planner::leave_narrower() {
  is_wanted_ = is_wanted_ || job_ || counts_.plans > 0;
  wait_ = 0;
  if (!follower_) return;
  follower_->begin();
  drop_idle_plan();
}

void Planner::start_job() {
  is_wanted_ = false;
  job_ = std::make_shared<Job>();
  job_->iteration = envelope_;
  const auto work = [job = job_] {
    Layout layout = lay_out(job->iteration);
    const std::scoped_lock lock(job->mutex);
    job->layout = std::move(layout);
  };
  if (executor_)
    executor_(work);
  else
    work();
}

void Planner::adopt(const Job& job) {
  const std::uint64_t bytes = round_up(job.layout->bytes, granule_bytes);
  SegmentId piece = no_segment;
  if (bytes > 0) piece = core_->find_ready(bytes, job.layout->stream);
  if (bytes > 0 && piece == no_segment) piece = core_->find(bytes, job.layout->stream);
  misses_ = misses_of(*core_);
  if (piece == no_segment) {
    wait_ = backoff_;
    backoff_ = std::min(backoff_ * 2, max_backoff);
    return;
  }
  core_->segment(piece).stream = job.layout->stream;
  piece_ = piece;
  follower_ = std::make_unique<PlanFollower>(job.iteration, *job.layout);
  ++counts_.plans;
}

void Planner::drop_idle_plan() {
  if (!follower_->is_idle()) return;
  core_->release(piece_);
  piece_ = no_segment;
  follower_.reset();
}

std::uint64_t Planner::held_bytes() const {
  return follower_ ? core_->segment(piece_).bytes : 0;
}

std::vector<Planner::Moved> Planner::break_up() {
  std::vector<Tiling::Piece> pieces;
  const std::vector<std::uint32_t> slots = follower_->live_slots();
  const Address start = core_->segment(piece_).address;
  for (const std::uint32_t slot : slots)
    pieces.push_back({start + follower_->offset(slot), follower_->size(slot)});
  const std::vector<SegmentId> segments = core_->carve_up(piece_, pieces);
  std::vector<Moved> moved;
  for (std::size_t i = 0; i < slots.size(); ++i) moved.push_back({slots[i], segments[i]});
  piece_ = no_segment;
  follower_.reset();
  ++counts_.broken;
  wait_ = backoff_;
  backoff_ = std::min(backoff_ * 2, max_backoff);
  return moved;
}

}  // namespace headroom::allocator
