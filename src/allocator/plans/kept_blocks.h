// SPDX-License-Identifier: Apache-2.0
// Learns how many small blocks a job keeps for good after each iteration: one loss each time, say,
// or some more after every hundredth. When an iteration ends, so many more blocks are expected to
// be live than when it began.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace headroom::allocator {

class KeptBlocks {
 public:
  // An iteration that keeps more blocks than this is building something, such as a model.
  static constexpr std::uint64_t most = 16;

  struct Kept {
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;  // The size of these blocks together.
  };

  // Notes what an iteration kept. A number of blocks that was kept twice is expected from then on.
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
  // Whether any block was kept recently.
  bool is_known() const { return known_[0].blocks > 0; }
  // How many blocks were kept the last time; 0 if none were recently.
  std::uint64_t last() const { return known_[0].blocks; }
  // Whether so many blocks were kept twice, with at least as many bytes. The same number of larger
  // blocks is something else, which may be freed later.
  bool expects(const Kept& kept) const {
    return std::any_of(known_.begin(), known_.end(), [&](const Known& each) {
      return each.is_expected && each.blocks == kept.blocks && kept.bytes <= each.bytes;
    });
  }

 private:
  struct Known : Kept {
    bool is_expected = false;
  };
  // Twice as many as the micro-batches of the longest step that is planned.
  static constexpr std::uint64_t most_rests = 128;

  std::array<Known, 2> known_;  // The most recent first.
  std::uint64_t rests_ = 0;     // Iterations since one kept something.
};

}  // namespace headroom::allocator
