// SPDX-License-Identifier: Apache-2.0
// How many small blocks the iterations of a job keep for good: a loss of each, or of each and some
// more of every hundredth. What is live when one ends is expected to be so much more than when it
// began.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace headroom::allocator {

class Keeping {
 public:
  // An iteration that keeps more than this makes something.
  static constexpr std::uint64_t most = 16;

  // An iteration has ended that kept so many. What was kept twice is expected from then on.
  void note(std::uint64_t blocks) {
    if (blocks == 0) {
      if (++rests_ > most_rests) *this = {};
      return;
    }
    rests_ = 0;
    if (known_[0].blocks != blocks) std::swap(known_[0], known_[1]);
    known_[0] = {blocks, known_[0].blocks == blocks};
  }
  // Whether any was kept of late.
  bool is_known() const { return known_[0].blocks > 0; }
  bool expects(std::uint64_t blocks) const {
    return std::any_of(known_.begin(), known_.end(), [blocks](const Count& each) {
      return each.is_expected && each.blocks == blocks;
    });
  }

 private:
  struct Count {
    std::uint64_t blocks = 0;
    bool is_expected = false;
  };
  // Twice as many as the micro-batches that a plan is made for.
  static constexpr std::uint64_t most_rests = 128;

  std::array<Count, 2> known_;  // The last one first.
  std::uint64_t rests_ = 0;     // Iterations since one kept something.
};

}  // namespace headroom::allocator
