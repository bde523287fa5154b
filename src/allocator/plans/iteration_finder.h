// SPDX-License-Identifier: Apache-2.0
// Finds where the iterations of a job begin, from its allocations alone. What is live rises and
// falls once per training step, or per batch or token. The lowest point between two rises is where
// an iteration ends; when exactly as many blocks and bytes are live again, the next one has ended,
// and what lies between is an iteration. Steps of different lengths are found as well, since
// at that point only what lasts is live.
//
// Iterations nest. A step that accumulates gradients over several micro-batches returns to one
// level after each micro-batch, and to the same level or a lower one after the optimizer. The first
// kind of iteration found is taken; a wider one replaces it once it repeats, and for as long as it
// does.
//
// A job may keep something small of each iteration, such as a loss. Then the live blocks are never
// exactly the same again. But if each of two low points in a row has only a few small blocks more
// than the one before it, both belong to the same border. A number of kept blocks that was seen
// twice is expected from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "allocator/plans/allocation_log.h"
#include "allocator/plans/iteration.h"
#include "allocator/plans/iteration_period.h"
#include "allocator/plans/kept_blocks.h"
#include "allocator/plans/live_range.h"

namespace headroom::allocator {

// Not thread-safe: the owner protects it.
class IterationFinder {
 public:
  // Whether an iteration has just ended; ask before noting the next allocation. If so, last() has
  // its allocations.
  bool ends_here();
  const Iteration& last() const { return last_; }
  // The allocations since the last iteration ended; empty if some were forgotten. Valid until the
  // next call.
  std::span<const IterationBlock> current() const { return log_.from(end_); }
  // Whether almost all of last() was requested in the iteration before it as well. Then the next
  // one will probably be the same.
  bool repeats() const { return repeats(comparison_); }
  // Whether last() is the first of a wider kind. The narrower iterations inside it will not be
  // found again while the wider kind goes on.
  bool is_wider() const { return is_wider_; }
  // Tells whether there are plans for the iterations found so far. As long as there are, a wider
  // kind is taken only if it repeats. Where lengths vary, the narrower ones have few kinds, each of
  // which comes again soon; an evaluation after every ten steps would make it one in ten.
  void set_planned(bool is_planned) { is_planned_ = is_planned; }

  // Returns the number of the allocation, which its note_free() needs. `bytes` is the rounded size.
  std::uint64_t note_allocate(std::uint64_t bytes, StreamId stream) {
    if (log_.size() >= room_) make_room();
    const std::uint64_t number = log_.note_allocate(bytes, stream);
    live_bytes_ += bytes;
    ++live_blocks_;
    if (bytes <= small_block_bytes) {
      ++live_small_;
      live_small_bytes_ += bytes;
    }
    if (live_bytes_ > high_bytes_) high_bytes_ = live_bytes_;
    if (!borders_.empty() && live_bytes_ > borders_.back().high) borders_.back().high = live_bytes_;
    return number;
  }
  void note_free(std::uint64_t number, std::uint64_t bytes) {
    live_bytes_ -= bytes;
    --live_blocks_;
    if (bytes <= small_block_bytes) {
      --live_small_;
      live_small_bytes_ -= bytes;
    }
    log_.note_free(number);
  }

 private:
  // What is live just before an allocation.
  struct Level {
    std::uint64_t bytes = 0;
    std::uint64_t blocks = 0;
    std::uint64_t small = 0;  // How many of the blocks are small.
    std::uint64_t small_bytes = 0;
    std::uint64_t next = 0;  // The allocation's number.
  };
  // A level at which iterations may begin. It is dropped when what is live falls below it.
  struct Border : Level {      // `next`: where the level was last returned to.
    std::uint64_t high = 0;    // The most that was live since, up to the next border in borders_.
    std::uint64_t height = 0;  // How far the last iteration rose above it.
    std::uint64_t expected_until = 0;  // The next one ends before this if it is like the last.
    std::uint64_t inner = 0;           // Iterations found above it since it was returned to.
    KeptBlocks kept_blocks;
    IterationPeriod period;
  };

  // What an iteration is compared with to find out whether it repeats, and the answer. Few ask, and
  // going through two iterations takes time, so it is found when it is asked for.
  struct Comparison {
    std::uint64_t since = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::optional<bool> repeats = false;
  };

  Level level() const;
  bool is_back_at(const Border& border) const;
  static bool differ_in_small_blocks(const Level& a, const Level& b);
  static KeptBlocks::Kept kept_between(const Level& before, const Level& after);
  bool returns_to(Border& border);
  void put_at(Border& border, const Level& level);
  bool is_large(const Border& border, const IterationPeriod::Stretch& stretch,
                std::uint64_t height) const;
  bool ends_iteration(Border& border);
  bool is_worth_it(const IterationPeriod& wider, bool repeats) const;
  Comparison with_what_came_before(std::uint64_t blocks, bool is_wider) const;
  bool repeats(Comparison& compared) const;
  bool is_within_a_wider() const;
  void look_for_a_low();
  bool is_kept_low(std::uint64_t fall) const;
  bool end_low(const Level& low);
  void add_border(const Level& low);
  bool moves_border(const Level& low);
  bool learns_to_keep(const KeptBlocks::Kept& kept);
  void drop_border();
  void make_room();

  std::uint64_t live_bytes_ = 0;
  std::uint64_t live_blocks_ = 0;
  std::uint64_t live_small_ = 0;
  std::uint64_t live_small_bytes_ = 0;
  std::uint64_t high_bytes_ = 0;  // The highest since the last low.
  std::optional<Level> low_;      // The lowest since then.
  LiveRange live_range_;
  std::vector<Border> borders_;  // Sorted by number and by bytes alike.
  AllocationLog log_;
  std::size_t room_ = 0;  // How many allocations the log may hold before some are forgotten.
  Iteration last_;
  std::uint64_t last_begin_ = 0;
  std::uint64_t end_ = 0;          // The number of the first allocation after the last iteration.
  mutable Comparison comparison_;  // Of last().
  bool is_wider_ = false;
  bool is_planned_ = false;
};

}  // namespace headroom::allocator
