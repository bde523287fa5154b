// SPDX-License-Identifier: Apache-2.0
// Finds where the iterations of a job begin, from its allocations alone. What is live rises and
// falls once per training step, or per batch or token. The lowest point between two rises is where
// an iteration ends; when exactly as many blocks and bytes are live again, the next one has ended,
// and what lies between is an iteration. Steps of different lengths are found as well, since
// at that point only what lasts is live.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/iteration.h"

namespace headroom::allocator {

// Not thread-safe: whoever owns it protects it.
class IterationFinder {
 public:
  // Before an allocation is noted: whether an iteration has just ended here. Its allocations are
  // then in last().
  bool ends_here();
  const Iteration& last() const { return last_; }
  // Whether just about all of it was asked for before it as well, since the one before it began:
  // then the next one will probably be the same.
  bool repeats() const { return repeats_; }

  // The number of the allocation, which its free names. `bytes` as after rounding.
  std::uint64_t note_allocate(std::uint64_t bytes, StreamId stream);
  void note_free(std::uint64_t number, std::uint64_t bytes);

 private:
  // How much is live just before an allocation.
  struct Level {
    std::uint64_t bytes = 0;
    std::uint64_t blocks = 0;
    std::uint64_t next = 0;  // The number of that allocation.
    std::uint64_t high = 0;  // The most that was live since, until the next border in borders_.
  };

  void look_for_a_low();
  void add_border(const Level& low);
  void drop_border();
  void forget_before(std::uint64_t number);
  bool repeats_what_was_forgotten() const;

  std::uint64_t live_bytes_ = 0;
  std::uint64_t live_blocks_ = 0;
  std::uint64_t next_ = 0;        // The number of the next allocation.
  std::uint64_t high_bytes_ = 0;  // The highest since the last low.
  std::optional<Level> low_;      // The lowest since then.
  std::uint64_t swing_ = 0;       // The largest fall and rise seen so far.
  // Where an iteration may have begun, by number and by bytes: what is live never fell below a
  // border since, or it would be none.
  std::vector<Level> borders_;
  std::uint64_t first_ = 0;  // The number of current_[0].
  Iteration current_;        // Since the first border or low.
  Iteration last_;
  // How many blocks of which size were forgotten since the last iteration ended, by hash.
  using SizeCounts = std::array<std::uint32_t, 4096>;
  SizeCounts forgotten_sizes_{};
  bool repeats_ = false;
};

}  // namespace headroom::allocator
