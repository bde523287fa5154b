// SPDX-License-Identifier: Apache-2.0
// Finds the best fit: the smallest segment that is large enough, and among equals the one with the
// lowest address. Sizes fall into bins (exact below 32 KiB, then 32 per power of two) with a bitmap
// over them, and a treap within each bin orders by (bytes, address). A bin rarely has more than a
// few members, so the usual cost is two bit scans, and the worst is logarithmic.
//
// The segment that came last is in no bin but kept in front of them. Often it is what is taken
// next, because a free grows into it or a block is cut off it, and then no bin is touched.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "allocator/places/segment.h"

namespace headroom::allocator {

class FreeIndex {
 public:
  explicit FreeIndex(SegmentTable& segments) : segments_(&segments) { roots_.fill(no_segment); }

  void insert(SegmentId id) {
    if (front_ != no_segment) put(front_);
    front_ = id;
  }
  // Requires: the segment is in this index, and has the size and address that it was inserted with.
  void erase(SegmentId id) {
    if (front_ == id)
      front_ = no_segment;
    else
      remove(id);
  }

  SegmentId best_fit(std::uint64_t bytes) const {
    const SegmentId found = summary_ != 0 ? best_in_bins(bytes) : no_segment;
    if (front_ == no_segment || (*segments_)[front_].bytes < bytes) return found;
    return found == no_segment || before(front_, found) ? front_ : found;
  }
  bool empty() const { return summary_ == 0 && front_ == no_segment; }
  SegmentId largest() const;

  // Calls visit(SegmentId) for each segment of at least `bytes`, in order of size. `visit` must not
  // change the index.
  template <class Visit>
  void for_each_from(std::uint64_t bytes, Visit&& visit) const {
    static_cast<void>(first_from(bytes, [&](SegmentId id) {
      visit(id);
      return false;
    }));
  }
  // Returns the first segment of at least `bytes`, in order of size, that `is_it` says yes to;
  // no_segment if it never does. `is_it` must not change the index.
  template <class Predicate>
  SegmentId first_from(std::uint64_t bytes, Predicate&& is_it) const {
    SegmentId front =
        front_ != no_segment && (*segments_)[front_].bytes >= bytes ? front_ : no_segment;
    SegmentId found = no_segment;
    const auto ends_at = [&](SegmentId id) {
      if (front != no_segment && before(front, id)) {
        found = std::exchange(front, no_segment);
        if (is_it(found)) return true;
      }
      found = id;
      return is_it(id);
    };
    for (std::size_t bin = next_bin(bin_of(bytes)); bin < bin_count; bin = next_bin(bin + 1))
      if (ends_in(roots_[bin], bytes, ends_at)) return found;
    return front != no_segment && is_it(front) ? front : no_segment;
  }
  // The same among all segments, from the largest one down.
  template <class Predicate>
  SegmentId last_that(Predicate&& is_it) const {
    SegmentId front = front_;
    SegmentId found = no_segment;
    const auto ends_at = [&](SegmentId id) {
      if (front != no_segment && before(id, front)) {
        found = std::exchange(front, no_segment);
        if (is_it(found)) return true;
      }
      found = id;
      return is_it(id);
    };
    for (std::size_t word = word_count; word-- > 0;) {
      for (std::uint64_t bins = words_[word]; bins != 0;) {
        const auto bin = static_cast<std::size_t>(std::bit_width(bins) - 1);
        bins ^= std::uint64_t{1} << bin;
        if (ends_in_reverse(roots_[word * 64 + bin], ends_at)) return found;
      }
    }
    return front != no_segment && is_it(front) ? front : no_segment;
  }

 private:
  // 64 exact bins, then 32 for each power of two up to 2^63 bytes.
  static constexpr std::size_t exact_bins = 64;
  static constexpr std::size_t bin_count = exact_bins + 48 * std::size_t{32};
  static constexpr std::size_t word_count = bin_count / 64;

  static std::size_t bin_of(std::uint64_t bytes) {
    const std::uint64_t units = bytes / granule_bytes;
    if (units < exact_bins) return units;
    const auto power = static_cast<std::size_t>(std::bit_width(units) - 1);  // At least 6.
    return exact_bins + (power - 6) * 32 + ((units >> (power - 5)) & 31U);
  }
  // The first such bin with members, or bin_count.
  std::size_t next_bin(std::size_t from) const {
    if (from >= bin_count) return bin_count;
    std::size_t word = from / 64;
    const std::uint64_t rest = words_[word] >> (from % 64);
    if (rest != 0) return from + static_cast<std::size_t>(std::countr_zero(rest));
    if (++word >= word_count) return bin_count;
    const std::uint64_t words = summary_ >> word;
    if (words == 0) return bin_count;
    word += static_cast<std::size_t>(std::countr_zero(words));
    return word * 64 + static_cast<std::size_t>(std::countr_zero(words_[word]));
  }
  bool before(SegmentId a, SegmentId b) const { return segments_->before(a, b); }
  // Into its bin, and out of it.
  void put(SegmentId id);
  void remove(SegmentId id);
  SegmentId best_in_bins(std::uint64_t bytes) const {
    const std::size_t first = bin_of(bytes);
    SegmentId best = no_segment;
    for (SegmentId node = roots_[first]; node != no_segment;) {
      const Segment& segment = (*segments_)[node];
      if (segment.bytes >= bytes) best = node;
      node = segment.bytes >= bytes ? segment.left : segment.right;
    }
    if (best != no_segment) return best;
    const std::size_t bin = next_bin(first + 1);
    if (bin >= bin_count) return no_segment;
    for (SegmentId node = roots_[bin]; node != no_segment; node = (*segments_)[node].left)
      best = node;
    return best;
  }
  static std::uint32_t priority(SegmentId id) { return id * 2654435761U; }  // Knuth's hash.
  SegmentId merge(SegmentId low, SegmentId high);
  void split(SegmentId root, SegmentId pivot, SegmentId* low, SegmentId* high);

  // Whether the walk through the tree, in order, ended before its end.
  template <class Predicate>
  bool ends_in(SegmentId root, std::uint64_t bytes, Predicate& ends_at) const {
    while (root != no_segment) {
      const Segment& segment = (*segments_)[root];
      if (segment.bytes >= bytes && (ends_in(segment.left, bytes, ends_at) || ends_at(root)))
        return true;
      root = segment.right;
    }
    return false;
  }
  template <class Predicate>
  bool ends_in_reverse(SegmentId root, Predicate& ends_at) const {
    while (root != no_segment) {
      const Segment& segment = (*segments_)[root];
      if (ends_in_reverse(segment.right, ends_at) || ends_at(root)) return true;
      root = segment.left;
    }
    return false;
  }

  SegmentTable* segments_;
  SegmentId front_ = no_segment;  // In no bin.
  std::array<SegmentId, bin_count> roots_{};
  std::array<std::uint64_t, word_count> words_{};  // Bit b: bin b has members.
  std::uint64_t summary_ = 0;                      // Bit w: words_[w] is not 0.
};

}  // namespace headroom::allocator
