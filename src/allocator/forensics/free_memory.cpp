// SPDX-License-Identifier: Apache-2.0
#include "allocator/forensics/free_memory.h"

#include <algorithm>
#include <vector>

#include "allocator/backend.h"
#include "base/bytes.h"

namespace headroom::allocator {
namespace {

constexpr auto by_address = [](const auto& a, const auto& b) { return a.address < b.address; };

// Returns `values` if they are sorted, as those of most heaps are, else a sorted copy in `room`.
template <class T>
const std::vector<T>& sorted(const std::vector<T>& values, std::vector<T>& room) {
  if (std::is_sorted(values.begin(), values.end(), by_address)) return values;
  room = values;
  std::sort(room.begin(), room.end(), by_address);
  return room;
}

// Contiguous free bytes within one span.
struct Run {
  Address begin = 0;
  Address end = 0;
  std::uint64_t pinned_bytes = 0;

  std::uint64_t bytes() const { return end - begin; }
  void clear() { *this = {}; }
};

class Walk {
 public:
  explicit Walk(const std::vector<DeviceSpan>& spans) : spans_(spans) {}

  // Requires: pieces are added in the order of their addresses.
  void add(const FreePiece& piece) {
    enter_span(piece.address);
    if (piece.address != all_.end) close_all();
    if (piece.address != usable_.end) close_usable();
    extend(all_, piece);
    if (piece.pending) {
      close_usable();
      pending_bytes_ += piece.bytes;
    } else {
      extend(usable_, piece);
    }
    bytes_ += piece.bytes;
  }

  FreeMemory finish(std::uint64_t spare_bytes) {
    close_usable();
    close_all();
    FreeMemory memory;
    memory.bytes = bytes_;
    memory.largest_bytes = largest_usable_;
    memory.fits_bytes = std::max(largest_, movable_ + spare_bytes);
    memory.split.stream_bytes = pending_bytes_;
    memory.split.soft_bytes = usable_movable_;
    memory.split.hard_bytes = bytes_ - pending_bytes_ - usable_movable_;
    return memory;
  }

 private:
  void enter_span(Address address) {
    const std::size_t before = next_span_;
    while (next_span_ < spans_.size() && spans_[next_span_].address <= address) ++next_span_;
    if (next_span_ == before) return;
    close_usable();
    close_all();
    span_ = spans_[next_span_ - 1];
  }
  static void extend(Run& run, const FreePiece& piece) {
    if (run.end == 0) run.begin = piece.address;
    run.end = piece.address + piece.bytes;
    run.pinned_bytes += piece.pinned_bytes;
  }
  // How many bytes of the run can be moved or released.
  std::uint64_t movable(const Run& run) const {
    const bool plain = !span_.pages && run.begin >= span_.address &&
                       run.end <= span_.address + span_.bytes && span_.bytes > 0;
    if (plain) return run.bytes() == span_.bytes ? run.bytes() : 0;
    const Address first = round_up(run.begin, page_bytes);
    const Address last = round_down(run.end, page_bytes);
    const std::uint64_t whole = last > first ? last - first : 0;
    return whole - std::min(whole, run.pinned_bytes);
  }
  void close_all() {
    largest_ = std::max(largest_, all_.bytes());
    movable_ += movable(all_);
    all_.clear();
  }
  void close_usable() {
    largest_usable_ = std::max(largest_usable_, usable_.bytes());
    usable_movable_ += movable(usable_);
    usable_.clear();
  }

  const std::vector<DeviceSpan>& spans_;
  std::size_t next_span_ = 0;
  DeviceSpan span_;  // The last one that began at or below the present piece.
  Run all_;          // The run as it is after waiting: it includes pending pieces.
  Run usable_;
  std::uint64_t bytes_ = 0;
  std::uint64_t pending_bytes_ = 0;
  std::uint64_t largest_ = 0;
  std::uint64_t largest_usable_ = 0;
  std::uint64_t movable_ = 0;
  std::uint64_t usable_movable_ = 0;
};

}  // namespace

FreeMemory measure_free(const HeapView& view) {
  std::vector<FreePiece> pieces_room;
  std::vector<DeviceSpan> spans_room;
  const std::vector<DeviceSpan>& spans = sorted(view.spans, spans_room);
  Walk walk(spans);
  for (const FreePiece& piece : sorted(view.free, pieces_room)) walk.add(piece);
  return walk.finish(view.spare_bytes);
}

}  // namespace headroom::allocator
