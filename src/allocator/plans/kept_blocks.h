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

class KeptBlocks {
 public:
  // An iteration that keeps more than this makes something.
  static constexpr std::uint64_t most = 16;

  struct Kept {
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;  // Of these blocks.
  };

  // An iteration has ended that kept so much. As many as were kept twice are expected from then on.
  void note(const Kept& kept) {
    if (kept.blocks == 0) {
      if (++rests_ > most_rests) *this = {};
      return;
    }
    rests_ = 0;
    if (known_[0].blocks != kept.blocks) std::swap(known_[0], known_[1]);
    Known& known = known_[0];
    const bool is_expected = known.blocks == kept.blocks;
    known = {{kept.blocks, is_expected ? std::max(known.bytes, kept.bytes) : kept.bytes},
             is_expected};
  }
  // Whether any was kept of late.
  bool is_known() const { return known_[0].blocks > 0; }
  // How many blocks it was the last time; 0 if nothing is known.
  std::uint64_t last() const { return known_[0].blocks; }
  // More bytes than ever in as many blocks are something else, which may not last.
  bool expects(const Kept& kept) const {
    return std::any_of(known_.begin(), known_.end(), [&](const Known& each) {
      return each.is_expected && each.blocks == kept.blocks && kept.bytes <= each.bytes;
    });
  }

 private:
  struct Known : Kept {
    bool is_expected = false;
  };
  // Twice as many as the micro-batches that a plan is made for.
  static constexpr std::uint64_t most_rests = 128;

  std::array<Known, 2> known_;  // The last one first.
  std::uint64_t rests_ = 0;     // Iterations since one kept something.
};

}  // namespace headroom::allocator
