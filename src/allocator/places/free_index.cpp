// SPDX-License-Identifier: Apache-2.0
#include "allocator/places/free_index.h"

#include <bit>
#include <tuple>

namespace headroom::allocator {

std::size_t FreeIndex::bin_of(std::uint64_t bytes) {
  const std::uint64_t units = bytes / granule_bytes;
  if (units < exact_bins) return units;
  const auto power = static_cast<std::size_t>(std::bit_width(units) - 1);  // At least 6.
  return exact_bins + (power - 6) * 32 + ((units >> (power - 5)) & 31U);
}

std::size_t FreeIndex::next_bin(std::size_t from) const {
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

bool FreeIndex::before(SegmentId a, SegmentId b) const {
  const Segment& left = (*segments_)[a];
  const Segment& right = (*segments_)[b];
  return std::tie(left.bytes, left.address) < std::tie(right.bytes, right.address);
}

SegmentId FreeIndex::merge(SegmentId low, SegmentId high) {
  if (low == no_segment) return high;
  if (high == no_segment) return low;
  if (priority(low) > priority(high)) {
    (*segments_)[low].right = merge((*segments_)[low].right, high);
    return low;
  }
  (*segments_)[high].left = merge(low, (*segments_)[high].left);
  return high;
}

void FreeIndex::split(SegmentId root, SegmentId pivot, SegmentId* low, SegmentId* high) {
  while (root != no_segment) {
    Segment& segment = (*segments_)[root];
    if (before(root, pivot)) {
      *low = root;
      low = &segment.right;
      root = segment.right;
    } else {
      *high = root;
      high = &segment.left;
      root = segment.left;
    }
  }
  *low = no_segment;
  *high = no_segment;
}

void FreeIndex::insert(SegmentId id) {
  Segment& inserted = (*segments_)[id];
  const std::size_t bin = bin_of(inserted.bytes);
  SegmentId* link = &roots_[bin];
  if (*link == no_segment) {
    words_[bin / 64] |= std::uint64_t{1} << (bin % 64);
    summary_ |= std::uint64_t{1} << (bin / 64);
  }
  while (*link != no_segment && priority(*link) >= priority(id)) {
    Segment& segment = (*segments_)[*link];
    link = before(id, *link) ? &segment.left : &segment.right;
  }
  split(*link, id, &inserted.left, &inserted.right);
  *link = id;
}

void FreeIndex::erase(SegmentId id) {
  const Segment& erased = (*segments_)[id];
  const std::size_t bin = bin_of(erased.bytes);
  SegmentId* link = &roots_[bin];
  while (*link != id) {
    Segment& segment = (*segments_)[*link];
    link = before(id, *link) ? &segment.left : &segment.right;
  }
  *link = merge(erased.left, erased.right);
  if (roots_[bin] == no_segment) {
    words_[bin / 64] &= ~(std::uint64_t{1} << (bin % 64));
    if (words_[bin / 64] == 0) summary_ &= ~(std::uint64_t{1} << (bin / 64));
  }
}

SegmentId FreeIndex::best_fit(std::uint64_t bytes) const {
  const std::size_t first = bin_of(bytes);
  SegmentId best = no_segment;
  for (SegmentId node = roots_[first]; node != no_segment;) {
    const Segment& segment = (*segments_)[node];
    if (segment.bytes >= bytes) {
      best = node;
      node = segment.left;
    } else {
      node = segment.right;
    }
  }
  if (best != no_segment) return best;
  const std::size_t bin = next_bin(first + 1);
  if (bin >= bin_count) return no_segment;
  for (SegmentId node = roots_[bin]; node != no_segment; node = (*segments_)[node].left)
    best = node;
  return best;
}

SegmentId FreeIndex::largest() const {
  if (summary_ == 0) return no_segment;
  const auto word = static_cast<std::size_t>(std::bit_width(summary_) - 1);
  const auto bin = word * 64 + static_cast<std::size_t>(std::bit_width(words_[word]) - 1);
  SegmentId last = roots_[bin];
  while ((*segments_)[last].right != no_segment) last = (*segments_)[last].right;
  return last;
}

}  // namespace headroom::allocator
