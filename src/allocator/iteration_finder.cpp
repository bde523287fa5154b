// SPDX-License-Identifier: Apache-2.0
#include "allocator/iteration_finder.h"

#include <algorithm>

namespace headroom::allocator {
namespace {

// A longer iteration is not followed: it would cost more memory than a plan is worth.
constexpr std::size_t max_blocks = std::size_t{1} << 20U;

// Fewer blocks than this are no step of anything.
constexpr std::size_t min_blocks = 16;

constexpr std::size_t max_borders = 16;

// Two levels are the same where they differ by less than this: a batch's labels may be longer than
// those of the batch before.
std::uint64_t tolerance(std::uint64_t bytes) {
  return bytes / 512 + (std::uint64_t{64} << 10U);
}

// Sizes are multiples of 512 bytes.
std::size_t hash_of(std::uint64_t bytes) {
  return static_cast<std::size_t>((bytes / 512 * 0x9E3779B97F4A7C15U) >> 52U);  // 12 bits.
}

}  // namespace

bool IterationFinder::ends_here() {
  while (!borders_.empty() && borders_.back().bytes > live_bytes_ + tolerance(live_bytes_))
    drop_border();
  look_for_a_low();
  if (borders_.empty()) return false;
  Level& border = borders_.back();
  if (live_blocks_ != border.blocks || live_bytes_ > border.bytes + tolerance(live_bytes_))
    return false;
  // The level can come back within an iteration: a small wave upon it is not one, unless it has as
  // many blocks as the one before.
  const std::size_t blocks = next_ - border.next;
  const bool is_small = (border.high - std::min(border.high, live_bytes_)) * 2 < swing_;
  if (blocks < min_blocks || (is_small && blocks != last_.size())) return false;
  forget_before(border.next);
  last_ = current_;
  // What was forgotten is the iteration before, or all that came before the first.
  repeats_ = repeats_what_was_forgotten();
  forgotten_sizes_.fill(0);
  borders_.front() = {live_bytes_, live_blocks_, next_, live_bytes_};
  borders_.resize(1);
  forget_before(next_);
  return true;
}

bool IterationFinder::repeats_what_was_forgotten() const {
  SizeCounts left = forgotten_sizes_;
  std::size_t known = 0;
  for (const IterationBlock& block : last_) {
    std::uint32_t& count = left[hash_of(block.bytes)];
    if (count == 0) continue;
    --count;
    ++known;
  }
  return known * 50 >= last_.size() * 49;
}

// A low is a border once what is live has risen again by half of what it had fallen.
void IterationFinder::look_for_a_low() {
  if (!low_ || live_bytes_ < low_->bytes)
    low_ = Level{live_bytes_, live_blocks_, next_, live_bytes_};
  const std::uint64_t fall = high_bytes_ - std::min(high_bytes_, low_->bytes);
  const bool rises = fall > 0 && live_bytes_ >= low_->bytes + (fall + 1) / 2;
  if (!rises) return;
  swing_ = std::max(swing_, fall);
  if (fall * 2 >= swing_) add_border(*low_);
  high_bytes_ = live_bytes_;
  low_.reset();
}

void IterationFinder::add_border(const Level& low) {
  const bool is_known = !borders_.empty() && borders_.back().blocks == low.blocks &&
                        low.bytes <= borders_.back().bytes + tolerance(low.bytes);
  if (is_known) return;
  if (borders_.size() == max_borders) borders_.erase(borders_.begin());
  borders_.push_back(low);
  borders_.back().high = live_bytes_;
  if (borders_.size() == 1) forget_before(low.next);
}

void IterationFinder::drop_border() {
  const std::uint64_t high = borders_.back().high;
  borders_.pop_back();
  if (!borders_.empty()) borders_.back().high = std::max(borders_.back().high, high);
}

void IterationFinder::forget_before(std::uint64_t number) {
  if (number <= first_) return;
  const auto gone = static_cast<std::ptrdiff_t>(number - first_);
  for (std::ptrdiff_t i = 0; i < gone; ++i)
    ++forgotten_sizes_[hash_of(current_[static_cast<std::size_t>(i)].bytes)];
  current_.erase(current_.begin(), current_.begin() + gone);
  for (IterationBlock& block : current_) {
    if (block.dies != IterationBlock::never) block.dies -= static_cast<std::uint32_t>(gone);
  }
  first_ = number;
}

std::uint64_t IterationFinder::note_allocate(std::uint64_t bytes, StreamId stream) {
  if (current_.size() == max_blocks) {
    borders_.clear();
    low_.reset();
    forget_before(next_);
  }
  current_.push_back({bytes, stream, IterationBlock::never});
  live_bytes_ += bytes;
  ++live_blocks_;
  high_bytes_ = std::max(high_bytes_, live_bytes_);
  if (!borders_.empty()) borders_.back().high = std::max(borders_.back().high, live_bytes_);
  return next_++;
}

void IterationFinder::note_free(std::uint64_t number, std::uint64_t bytes) {
  live_bytes_ -= bytes;
  --live_blocks_;
  if (number >= first_) current_[number - first_].dies = static_cast<std::uint32_t>(next_ - first_);
}

}  // namespace headroom::allocator
