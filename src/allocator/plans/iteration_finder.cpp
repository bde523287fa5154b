// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/iteration_finder.h"

#include <algorithm>
#include <utility>

namespace headroom::allocator {
namespace {

// Iterations longer than this are not followed: their log would cost more memory than a plan saves.
constexpr std::size_t most_blocks = std::size_t{1} << 20U;
// Nor are iterations that contain narrower ones, if they are longer than this.
constexpr std::size_t most_wider_blocks = std::size_t{1} << 16U;
// An iteration contains at most so many narrower ones. An epoch repeats as well, but is not worth a
// plan: little happens between its many iterations, and where sequence lengths vary it never
// repeats exactly.
constexpr std::uint64_t most_inner = 64;
constexpr std::uint64_t most_inner_of_varying_lengths = 16;
// The log always keeps at least half of these (1 MiB of memory), since no wider iteration is longer
// than that.
constexpr std::size_t least_room = 2 * most_wider_blocks;

// A shorter repetition is not a step of a job.
constexpr std::size_t min_blocks = 16;

constexpr std::size_t max_borders = 32;

// Two levels count as the same if they differ by at most this: one batch's labels may be longer
// than another's.
std::uint64_t tolerance(std::uint64_t bytes) {
  return bytes / 512 + (std::uint64_t{64} << 10U);
}

}  // namespace

IterationFinder::Level IterationFinder::level() const {
  return {live_bytes_, live_blocks_, live_small_, live_small_bytes_, log_.next()};
}

// Whether live memory is back at the border, if it is so by its bytes.
bool IterationFinder::is_back_at(const Border& border) const {
  if (live_blocks_ == border.blocks) return true;
  return border.kept_blocks.is_known() && live_blocks_ > border.blocks &&
         border.kept_blocks.expects(kept_between(border, level()));
}

bool IterationFinder::differ_in_small_blocks(const Level& a, const Level& b) {
  return a.blocks - a.small == b.blocks - b.small && a.bytes <= b.bytes + tolerance(a.bytes) &&
         b.bytes <= a.bytes + tolerance(b.bytes);
}

// Returns nothing if anything but a few small blocks has changed.
KeptBlocks::Kept IterationFinder::kept_between(const Level& before, const Level& after) {
  const bool is_more = after.small > before.small && after.small - before.small <= KeptBlocks::most;
  if (!is_more || !differ_in_small_blocks(before, after)) return {};
  return {after.small - before.small,
          after.small_bytes - std::min(after.small_bytes, before.small_bytes)};
}

bool IterationFinder::ends_here() {
  const std::uint64_t live = live_bytes_;
  const std::uint64_t tolerated = tolerance(live);
  while (!borders_.empty() && borders_.back().bytes > live + tolerated) drop_border();
  look_for_a_low();
  if (borders_.empty()) return false;
  Border& border = borders_.back();
  return live <= border.bytes + tolerated && is_back_at(border) && returns_to(border);
}

bool IterationFinder::returns_to(Border& border) {
  const std::uint64_t blocks = log_.next() - border.next;
  const std::uint64_t height = border.high - std::min(border.high, live_bytes_);
  const std::uint64_t kept = live_blocks_ - border.blocks;
  if (blocks < min_blocks || !is_large(border, {blocks, 0, kept}, height)) return false;
  border.kept_blocks.note(kept > 0 ? kept_between(border, level()) : KeptBlocks::Kept{});
  // Otherwise the lowest level would stay the one from before anything was kept.
  if (kept > 0) end_low(level());
  const bool ends = border.period.add({blocks, std::exchange(border.inner, 0), kept});
  put_at(border, level());
  border.height = height;
  return ends && !is_within_a_wider() && ends_iteration(border);
}

// Moves the last border to the level at which it was returned to.
void IterationFinder::put_at(Border& border, const Level& level) {
  if (borders_.size() > 1) {
    Border& outer = borders_[borders_.size() - 2];
    outer.high = std::max(outer.high, border.high);
  }
  static_cast<Level&>(border) = level;
  border.high = live_bytes_;
}

// Live memory can return to its level within an iteration. A small wave in between is not an
// iteration, unless one with as many blocks was seen before.
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

// The iteration that ends now is compared with the one before it or, if it is the first one, with
// everything before it. One of a wider kind is compared with twice its own length, because the step
// before it may be the first, which allocates more.
IterationFinder::Comparison IterationFinder::with_what_came_before(std::uint64_t blocks,
                                                                   bool is_wider) const {
  if (blocks > log_.size()) return {};
  const std::uint64_t end = log_.next();
  const std::uint64_t begin = end - blocks;
  const std::uint64_t since = is_wider ? begin - std::min(begin, 2 * blocks) : last_begin_;
  return {std::clamp(since, log_.first(), begin), begin, end, std::nullopt};
}

bool IterationFinder::repeats(Comparison& compared) const {
  if (!compared.repeats)
    compared.repeats = log_.repeats(compared.since, compared.begin, compared.end);
  return *compared.repeats;
}

bool IterationFinder::is_worth_it(const IterationPeriod& wider, bool repeats) const {
  if (wider.allocations() > most_wider_blocks) return false;
  if (repeats) return wider.inner() <= most_inner;
  return !is_planned_ && wider.is_steady() && wider.inner() <= most_inner_of_varying_lengths;
}

bool IterationFinder::ends_iteration(Border& border) {
  IterationPeriod& period = border.period;
  Comparison compared = with_what_came_before(period.allocations(), period.is_wider());
  if (period.is_wider() && !is_worth_it(period, repeats(compared))) {
    period.give_up();
    if (period.is_wider()) return false;
    compared = with_what_came_before(period.allocations(), false);
  }
  const std::uint64_t blocks = period.allocations();
  if (blocks > log_.size()) return false;
  last_begin_ = log_.next() - blocks;
  log_.copy_since(last_begin_, last_);
  end_ = log_.next();
  comparison_ = compared;
  is_wider_ = period.is_wider();
  border.expected_until = log_.next() + blocks + blocks / 4;
  for (std::size_t i = 0; i + 1 < borders_.size(); ++i) ++borders_[i].inner;
  return true;
}

// A low becomes a border once live memory has risen again by half of its fall. It also does if live
// memory stays above it for very long without rising so far: then what was freed belonged to an
// earlier job.
void IterationFinder::look_for_a_low() {
  if (!low_ || live_bytes_ < low_->bytes) low_ = level();
  const std::uint64_t fall = high_bytes_ - std::min(high_bytes_, low_->bytes);
  const bool rises = live_bytes_ >= low_->bytes + (fall + 1) / 2;
  const bool is_over = fall > 0 && (rises || log_.next() > low_->next + LiveRange::memory);
  if (!is_over && (fall < live_range_.bytes() / 16 || !is_kept_low(fall))) return;
  const Level low = *low_;
  if (end_low(low) || !is_over) add_border(low);
}

// Whether the low ends an iteration although its wave was small. Steps of varying lengths rise and
// fall differently; a low at which only a few small blocks are live besides what lasts may end a
// short one.
bool IterationFinder::is_kept_low(std::uint64_t fall) const {
  const std::uint64_t least = live_range_.bytes() / 16;
  if (live_bytes_ - low_->bytes < least || fall < least || borders_.empty()) return false;
  const Border& border = borders_.back();
  return low_->next >= border.next + min_blocks && kept_between(border, *low_).blocks > 0;
}

// Ends the search at this low. Returns whether the fall to it was a large one.
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

// Whether the low is the last border, at which live memory arrived unrecognized because the number
// of kept small blocks was new, or because the job freed the blocks kept from many iterations. If
// so, moves the border there.
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
    // If kept blocks were freed, the iteration is assumed to have kept as many as the one before.
    const std::uint64_t more = kept.blocks > 0 ? kept.blocks : border.kept_blocks.last();
    const bool ends = border.period.add({blocks, std::exchange(border.inner, 0), more});
    // A wider iteration that ends here unnoticed would end unnoticed each time.
    if (ends && border.period.is_wider()) border.period.give_up();
    border.height = border.high - std::min(border.high, low.bytes);
    if (low.next <= border.expected_until) border.expected_until = low.next + blocks + blocks / 4;
  }
  put_at(border, low);
  if (!is_stretch) border.next = begin;
  return true;
}

// Whether this is the second low in a row at which only a few more small blocks are live than
// before. If so, merges the last two borders into one.
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
  // Borders to which the job will not return would keep the log long, so they are dropped.
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

}  // namespace headroom::allocator
