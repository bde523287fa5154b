// SPDX-License-Identifier: Apache-2.0
#include "allocator/iteration_finder.h"

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

bool IterationFinder::is_at(const Level& level) const {
  return live_blocks_ == level.blocks && live_bytes_ <= level.bytes + tolerance(live_bytes_);
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
  if (blocks < min_blocks || !is_large(border, blocks, height)) return false;
  if (borders_.size() > 1) {
    Border& outer = borders_[borders_.size() - 2];
    outer.high = std::max(outer.high, border.high);
  }
  const bool ends = border.rhythm.add({blocks, std::exchange(border.inner, 0)});
  static_cast<Level&>(border) = {live_bytes_, live_blocks_, log_.next()};
  border.high = live_bytes_;
  border.height = height;
  return ends && !is_within_a_wider() && ends_iteration(border);
}

// The level can come back within an iteration: a small wave upon it is none, unless there were some
// of as many blocks before.
bool IterationFinder::is_large(const Border& border, std::uint64_t blocks,
                               std::uint64_t height) const {
  const bool is_expected = log_.next() <= border.expected_until;
  const std::uint64_t usual = std::max(swing_.bytes(), is_expected ? border.height : 0);
  if (height >= usual - usual / 2 || blocks == last_.size()) return true;
  return height >= usual / 16 && border.rhythm.knows(blocks);
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

bool IterationFinder::is_worth_it(const Rhythm& wider, bool repeats) {
  if (wider.allocations() > most_wider_blocks) return false;
  if (repeats) return wider.inner() <= most_inner;
  return wider.is_steady() && wider.inner() <= most_inner_of_varying_lengths;
}

bool IterationFinder::ends_iteration(Border& border) {
  Rhythm& rhythm = border.rhythm;
  bool repeats = repeats_what_came_before(rhythm.allocations(), rhythm.is_wider());
  if (rhythm.is_wider() && !is_worth_it(rhythm, repeats)) {
    rhythm.give_up();
    if (rhythm.is_wider()) return false;
    repeats = repeats_what_came_before(rhythm.allocations(), false);
  }
  const std::uint64_t blocks = rhythm.allocations();
  if (blocks > log_.size()) return false;
  last_begin_ = log_.next() - blocks;
  last_ = log_.since(last_begin_);
  end_ = log_.next();
  repeats_ = repeats;
  is_wider_ = rhythm.is_wider();
  border.expected_until = log_.next() + blocks + blocks / 4;
  for (std::size_t i = 0; i + 1 < borders_.size(); ++i) ++borders_[i].inner;
  return true;
}

// A low is a border once what is live has risen again by half of what it had fallen, or stays above
// it for so long that it will not: what fell was another job's.
void IterationFinder::look_for_a_low() {
  if (!low_ || live_bytes_ < low_->bytes) low_ = Level{live_bytes_, live_blocks_, log_.next()};
  const std::uint64_t fall = high_bytes_ - std::min(high_bytes_, low_->bytes);
  const bool rises = live_bytes_ >= low_->bytes + (fall + 1) / 2;
  if (fall == 0 || !(rises || log_.next() > low_->next + Swing::memory)) return;
  if (swing_.add(fall, low_->next)) add_border(*low_);
  high_bytes_ = live_bytes_;
  low_.reset();
}

void IterationFinder::add_border(const Level& low) {
  const bool is_known = !borders_.empty() && borders_.back().blocks == low.blocks &&
                        low.bytes <= borders_.back().bytes + tolerance(low.bytes);
  if (is_known) return;
  if (borders_.size() == max_borders) borders_.erase(borders_.begin());
  borders_.push_back({});
  static_cast<Level&>(borders_.back()) = low;
  borders_.back().high = live_bytes_;
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
  high_bytes_ = std::max(high_bytes_, live_bytes_);
  if (!borders_.empty()) borders_.back().high = std::max(borders_.back().high, live_bytes_);
  return log_.next() - 1;
}

void IterationFinder::note_free(std::uint64_t number, std::uint64_t bytes) {
  live_bytes_ -= bytes;
  --live_blocks_;
  log_.note_free(number);
}

}  // namespace headroom::allocator
