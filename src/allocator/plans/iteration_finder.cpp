// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/iteration_finder.h"

#include <algorithm>
#include <utility>

namespace headroom::allocator {
namespace {

// A longer iteration is not followed: it would cost more memory than a plan is worth.
constexpr std::size_t most_blocks = std::size_t{1} << 20U;
// Nor is one that others were found in, if it is longer than this.
constexpr std::size_t most_wider_blocks = std::size_t{1} << 16U;
// An epoch repeats as well, and is none: what it does between its many iterations is not worth a
// plan, and where lengths vary it never comes again as it was.
constexpr std::uint64_t most_inner = 64;
constexpr std::uint64_t most_inner_of_varying_lengths = 16;
// Half of these are kept in any case (1 MiB of memory): no wider iteration is longer.
constexpr std::size_t least_room = 2 * most_wider_blocks;

// Fewer blocks than this are no step of anything.
constexpr std::size_t min_blocks = 16;

constexpr std::size_t max_borders = 32;

// Two levels are the same where they differ by less than this: a batch's labels may be longer than
// those of the batch before.
std::uint64_t tolerance(std::uint64_t bytes) {
  return bytes / 512 + (std::uint64_t{64} << 10U);
}

}  // namespace

IterationFinder::Level IterationFinder::level() const {
  return {live_bytes_, live_blocks_, live_small_, live_small_bytes_, log_.next()};
}

bool IterationFinder::is_at(const Border& border) const {
  if (live_bytes_ > border.bytes + tolerance(live_bytes_)) return false;
  if (live_blocks_ == border.blocks) return true;
  return border.kept_blocks.is_known() && live_blocks_ > border.blocks &&
         border.kept_blocks.expects(kept_between(border, level()));
}

bool IterationFinder::differ_in_small_blocks(const Level& a, const Level& b) {
  return a.blocks - a.small == b.blocks - b.small && a.bytes <= b.bytes + tolerance(a.bytes) &&
         b.bytes <= a.bytes + tolerance(b.bytes);
}

// Nothing unless it is all that has changed.
KeptBlocks::Kept IterationFinder::kept_between(const Level& before, const Level& after) {
  const bool is_more = after.small > before.small && after.small - before.small <= KeptBlocks::most;
  if (!is_more || !differ_in_small_blocks(before, after)) return {};
  return {after.small - before.small,
          after.small_bytes - std::min(after.small_bytes, before.small_bytes)};
}

bool IterationFinder::ends_here() {
  const std::uint64_t same = live_bytes_ + tolerance(live_bytes_);
  while (!borders_.empty() && borders_.back().bytes > same) drop_border();
  look_for_a_low();
  if (borders_.empty() || !is_at(borders_.back())) return false;
  return returns_to(borders_.back());
}

bool IterationFinder::returns_to(Border& border) {
  const std::uint64_t blocks = log_.next() - border.next;
  const std::uint64_t height = border.high - std::min(border.high, live_bytes_);
  const std::uint64_t kept = live_blocks_ - border.blocks;
  if (blocks < min_blocks || !is_large(border, {blocks, 0, kept}, height)) return false;
  border.kept_blocks.note(kept > 0 ? kept_between(border, level()) : KeptBlocks::Kept{});
  // The lowest would for ever be the one before anything was kept.
  if (kept > 0) end_low(level());
  const bool ends = border.period.add({blocks, std::exchange(border.inner, 0), kept});
  put_at(border, level());
  border.height = height;
  return ends && !is_within_a_wider() && ends_iteration(border);
}

// The last of the borders, where what is live comes back to it.
void IterationFinder::put_at(Border& border, const Level& level) {
  if (borders_.size() > 1) {
    Border& outer = borders_[borders_.size() - 2];
    outer.high = std::max(outer.high, border.high);
  }
  static_cast<Level&>(border) = level;
  border.high = live_bytes_;
}

// The level can come back within an iteration: a small wave upon it is none, unless there were some
// of as many blocks before.
bool IterationFinder::is_large(const Border& border, const IterationPeriod::Stretch& stretch,
                               std::uint64_t height) const {
  const bool is_expected = log_.next() <= border.expected_until;
  const std::uint64_t usual = std::max(live_range_.bytes(), is_expected ? border.height : 0);
  if (height >= usual - usual / 2 || stretch.allocations == last_.size()) return true;
  return height >= usual / 16 && border.period.knows(stretch);
}

bool IterationFinder::is_within_a_wider() const {
  return std::any_of(borders_.begin(), borders_.end() - 1,
                     [&](const Border& outer) { return log_.next() <= outer.expected_until; });
}

// What came before it is the iteration before, or all that came before the first. Before one of a
// wider kind it is as much again, and what a first step has beside.
bool IterationFinder::repeats_what_came_before(std::uint64_t blocks, bool is_wider) const {
  if (blocks > log_.size()) return false;
  const std::uint64_t begin = log_.next() - blocks;
  const std::uint64_t since = is_wider ? begin - std::min(begin, 2 * blocks) : last_begin_;
  return log_.repeats(begin, std::clamp(since, log_.first(), begin));
}

bool IterationFinder::is_worth_it(const IterationPeriod& wider, bool repeats) {
  if (wider.allocations() > most_wider_blocks) return false;
  if (repeats) return wider.inner() <= most_inner;
  return wider.is_steady() && wider.inner() <= most_inner_of_varying_lengths;
}

bool IterationFinder::ends_iteration(Border& border) {
  IterationPeriod& period = border.period;
  bool repeats = repeats_what_came_before(period.allocations(), period.is_wider());
  if (period.is_wider() && !is_worth_it(period, repeats)) {
    period.give_up();
    if (period.is_wider()) return false;
    repeats = repeats_what_came_before(period.allocations(), false);
  }
  const std::uint64_t blocks = period.allocations();
  if (blocks > log_.size()) return false;
  last_begin_ = log_.next() - blocks;
  last_ = log_.since(last_begin_);
  end_ = log_.next();
  repeats_ = repeats;
  is_wider_ = period.is_wider();
  border.expected_until = log_.next() + blocks + blocks / 4;
  for (std::size_t i = 0; i + 1 < borders_.size(); ++i) ++borders_[i].inner;
  return true;
}

// A low is a border once what is live has risen again by half of what it had fallen, or stays above
// it for so long that it will not: what fell was another job's.
void IterationFinder::look_for_a_low() {
  if (!low_ || live_bytes_ < low_->bytes) low_ = level();
  const std::uint64_t fall = high_bytes_ - std::min(high_bytes_, low_->bytes);
  const bool rises = live_bytes_ >= low_->bytes + (fall + 1) / 2;
  const bool is_over = fall > 0 && (rises || log_.next() > low_->next + LiveRange::memory);
  if (!is_over && !is_kept_low(fall)) return;
  const Level low = *low_;
  if (end_low(low) || !is_over) add_border(low);
}

// Steps of varying lengths differ in how far they rise and fall. Where nothing but a few small
// blocks are live beside what lasts, one may be short.
bool IterationFinder::is_kept_low(std::uint64_t fall) const {
  const std::uint64_t least = live_range_.bytes() / 16;
  if (live_bytes_ - low_->bytes < least || fall < least || borders_.empty()) return false;
  const Border& border = borders_.back();
  return low_->next >= border.next + min_blocks && kept_between(border, *low_).blocks > 0;
}

// Whether the fall to it was a large one.
bool IterationFinder::end_low(const Level& low) {
  const bool is_large = live_range_.add(high_bytes_ - std::min(high_bytes_, low.bytes), low.next);
  high_bytes_ = live_bytes_;
  low_.reset();
  return is_large;
}

void IterationFinder::add_border(const Level& low) {
  const bool is_known = !borders_.empty() && borders_.back().blocks == low.blocks &&
                        low.bytes <= borders_.back().bytes + tolerance(low.bytes);
  if (is_known || moves_border(low)) return;
  if (borders_.size() == max_borders) borders_.erase(borders_.begin());
  borders_.push_back({});
  static_cast<Level&>(borders_.back()) = low;
  borders_.back().high = live_bytes_;
}

// Where small blocks are kept, a low is a border that was returned to and not recognized: so many
// were not kept before, or what was kept of many iterations was freed.
bool IterationFinder::moves_border(const Level& low) {
  if (borders_.empty()) return false;
  const KeptBlocks::Kept kept = kept_between(borders_.back(), low);
  if (!borders_.back().kept_blocks.is_known() && !learns_to_keep(kept)) return false;
  Border& border = borders_.back();
  if (low.next <= border.next) return true;
  if (kept.blocks == 0 && !(low.small < border.small && differ_in_small_blocks(low, border)))
    return false;
  border.kept_blocks.note(kept);
  const std::uint64_t begin = border.next;
  const std::uint64_t blocks = low.next - begin;
  const bool is_stretch = blocks >= min_blocks;
  if (is_stretch) {
    // Where much was freed, as much will have been kept as before.
    const std::uint64_t more = kept.blocks > 0 ? kept.blocks : border.kept_blocks.last();
    const bool ends = border.period.add({blocks, std::exchange(border.inner, 0), more});
    // What first ends where nobody notices would do so again.
    if (ends && border.period.is_wider()) border.period.give_up();
    border.height = border.high - std::min(border.high, low.bytes);
    if (low.next <= border.expected_until) border.expected_until = low.next + blocks + blocks / 4;
  }
  put_at(border, low);
  if (!is_stretch) border.next = begin;
  return true;
}

// The second low in a row at which nothing but some small blocks more are live. The two borders
// below it are one then.
bool IterationFinder::learns_to_keep(const KeptBlocks::Kept& kept) {
  if (kept.blocks == 0 || borders_.size() < 2) return false;
  Border& last = borders_.back();
  Border& before = borders_[borders_.size() - 2];
  const KeptBlocks::Kept kept_before = kept_between(before, last);
  if (kept_before.blocks == 0) return false;
  last.kept_blocks.note(kept_before);
  last.high = std::max(last.high, before.high);
  before = std::move(last);
  borders_.pop_back();
  return true;
}

void IterationFinder::drop_border() {
  const std::uint64_t high = borders_.back().high;
  borders_.pop_back();
  if (!borders_.empty()) borders_.back().high = std::max(borders_.back().high, high);
}

// Forgets half of the log or, where an iteration that goes on needs it, lets it grow.
void IterationFinder::make_room() {
  room_ = std::max(room_, least_room);
  if (log_.size() < room_) return;
  const auto is_needed = [&] {
    return !borders_.empty() && borders_.front().next < log_.next() - room_ / 2;
  };
  // Of a border that is left behind for good.
  while (room_ > most_wider_blocks && borders_.size() > 1 && is_needed())
    borders_.erase(borders_.begin());
  if (is_needed() && room_ < most_blocks) {
    room_ *= 2;
    return;
  }
  if (is_needed() && borders_.front().next == log_.first()) {
    borders_.clear();
    low_.reset();
  }
  log_.forget_before(is_needed() ? borders_.front().next : log_.next() - room_ / 2);
  while (room_ > least_room && log_.size() <= room_ / 4) room_ /= 2;
}

std::uint64_t IterationFinder::note_allocate(std::uint64_t bytes, StreamId stream) {
  if (log_.size() >= room_) make_room();
  log_.note_allocate(bytes, stream);
  live_bytes_ += bytes;
  ++live_blocks_;
  if (bytes <= small_block_bytes) {
    ++live_small_;
    live_small_bytes_ += bytes;
  }
  high_bytes_ = std::max(high_bytes_, live_bytes_);
  if (!borders_.empty()) borders_.back().high = std::max(borders_.back().high, live_bytes_);
  return log_.next() - 1;
}

void IterationFinder::note_free(std::uint64_t number, std::uint64_t bytes) {
  live_bytes_ -= bytes;
  --live_blocks_;
  if (bytes <= small_block_bytes) {
    --live_small_;
    live_small_bytes_ -= bytes;
  }
  log_.note_free(number);
}

}  // namespace headroom::allocator
