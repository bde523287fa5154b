// SPDX-License-Identifier: Apache-2.0
// Finds the best fit: the smallest segment that is large enough, and among equals the one with the
// lowest address. Sizes fall into bins (exact below 32 KiB, then 32 per power of two) with a bitmap
// over them, and a treap within each bin orders by (bytes, address). A bin rarely has more than a
// few members, so the usual cost is two bit scans, and the worst is logarithmic.
#pragma once

#include <array>
#include <cstdint>

#include "allocator/places/segment.h"

namespace headroom::allocator {

class FreeIndex {
 public:
  explicit FreeIndex(SegmentTable& segments) : segments_(&segments) { roots_.fill(no_segment); }

  void insert(SegmentId id);
  // Requires: the segment is in this index, and has the size and address that it was inserted with.
  void erase(SegmentId id);

  SegmentId best_fit(std::uint64_t bytes) const;
  bool empty() const { return summary_ == 0; }
  SegmentId largest() const;

  // Calls visit(SegmentId) for each segment of at least `bytes`, in order of size. `visit` must not
  // change the index.
  template <class Visit>
  void for_each_from(std::uint64_t bytes, Visit&& visit) const {
    for (std::size_t bin = next_bin(bin_of(bytes)); bin < bin_count; bin = next_bin(bin + 1))
      for_each_in(roots_[bin], bytes, visit);
  }

 private:
  // 64 exact bins, then 32 for each power of two up to 2^63 bytes.
  static constexpr std::size_t exact_bins = 64;
  static constexpr std::size_t bin_count = exact_bins + 48 * std::size_t{32};
  static constexpr std::size_t word_count = bin_count / 64;

  static std::size_t bin_of(std::uint64_t bytes);
  std::size_t next_bin(std::size_t from) const;  // The first such bin with members, or bin_count.
  bool before(SegmentId a, SegmentId b) const;
  static std::uint32_t priority(SegmentId id) { return id * 2654435761U; }  // Knuth's hash.
  SegmentId merge(SegmentId low, SegmentId high);
  void split(SegmentId root, SegmentId pivot, SegmentId* low, SegmentId* high);

  template <class Visit>
  void for_each_in(SegmentId root, std::uint64_t bytes, Visit& visit) const {
    while (root != no_segment) {
      const Segment& segment = (*segments_)[root];
      if (segment.bytes >= bytes) {
        for_each_in(segment.left, bytes, visit);
        visit(root);
      }
      root = segment.right;
    }
  }

  SegmentTable* segments_;
  std::array<SegmentId, bin_count> roots_{};
  std::array<std::uint64_t, word_count> words_{};  // Bit b: bin b has members.
  std::uint64_t summary_ = 0;                      // Bit w: words_[w] is not 0.
};

}  // namespace headroom::allocator
