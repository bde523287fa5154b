// SPDX-License-Identifier: Apache-2.0
#include "allocator/places/free_index.h"

#include <bit>

namespace headroom::allocator {

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

void FreeIndex::put(SegmentId id) {
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
  if (*link == no_segment)
    inserted.left = inserted.right = no_segment;
  else
    split(*link, id, &inserted.left, &inserted.right);
  *link = id;
}

void FreeIndex::remove(SegmentId id) {
  const Segment& erased = (*segments_)[id];
  const std::size_t bin = bin_of(erased.bytes);
  SegmentId* link = &roots_[bin];
  while (*link != id) {
    Segment& segment = (*segments_)[*link];
    link = before(id, *link) ? &segment.left : &segment.right;
  }
  if (erased.left == no_segment || erased.right == no_segment)
    *link = erased.left == no_segment ? erased.right : erased.left;
  else
    *link = merge(erased.left, erased.right);
  if (roots_[bin] == no_segment) {
    words_[bin / 64] &= ~(std::uint64_t{1} << (bin % 64));
    if (words_[bin / 64] == 0) summary_ &= ~(std::uint64_t{1} << (bin / 64));
  }
}

SegmentId FreeIndex::largest() const {
  if (summary_ == 0) return front_;
  const auto word = static_cast<std::size_t>(std::bit_width(summary_) - 1);
  const auto bin = word * 64 + static_cast<std::size_t>(std::bit_width(words_[word]) - 1);
  SegmentId last = roots_[bin];
  while ((*segments_)[last].right != no_segment) last = (*segments_)[last].right;
  return front_ != no_segment && before(last, front_) ? front_ : last;
}

}  // namespace headroom::allocator
