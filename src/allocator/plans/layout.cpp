// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/layout.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "allocator/places/segment.h"
#include "base/bytes.h"

namespace headroom::allocator {
namespace {

// With more blocks than this only the first order is tried.
constexpr std::size_t many_blocks = 20000;

struct Item {
  std::uint32_t number = 0;
  std::uint32_t birth = 0;
  std::uint32_t death = 0;
  std::uint64_t bytes = 0;

  std::uint64_t lifetime() const { return death - birth; }
};

StreamId main_stream(const Iteration& iteration) {
  std::map<StreamId, std::uint64_t> bytes;
  for (const IterationBlock& block : iteration) bytes[block.stream] += block.bytes;
  const auto most = std::max_element(
      bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() ? 0 : most->first;
}

std::vector<Item> items_of(const Iteration& iteration, StreamId stream) {
  std::vector<Item> items;
  for (std::uint32_t i = 0; i < iteration.size(); ++i) {
    const IterationBlock& block = iteration[i];
    if (block.dies == IterationBlock::never || block.stream != stream) continue;
    items.push_back({i, i, block.dies, round_up(block.bytes, granule_bytes)});
  }
  return items;
}

std::uint64_t live_peak(const std::vector<Item>& items, std::size_t blocks) {
  std::vector<std::uint64_t> dying(blocks + 1);
  std::vector<std::uint64_t> born(blocks + 1);
  for (const Item& item : items) {
    born[item.birth] += item.bytes;
    dying[item.death] += item.bytes;
  }
  std::uint64_t live = 0;
  std::uint64_t peak = 0;
  for (std::size_t k = 0; k < blocks; ++k) {
    live = live - dying[k] + born[k];
    peak = std::max(peak, live);
  }
  return peak;
}

// Places items one after another, each at the lowest offset where nothing that lives at the same
// time lies.
class Packing {
 public:
  // Gives up and returns false as soon as the layout is larger than `limit`.
  bool pack(const std::vector<Item>& items, std::uint64_t limit) {
    placed_.reserve(items.size());
    for (const Item& item : items) {
      const std::uint64_t offset = lowest_place(item);
      bytes_ = std::max(bytes_, offset + item.bytes);
      if (bytes_ > limit) return false;
      const Place place{offset, offset + item.bytes, item.birth, item.death, item.number};
      placed_.insert(
          std::upper_bound(placed_.begin(), placed_.end(), offset,
                           [](std::uint64_t at, const Place& p) { return at < p.begin; }),
          place);
    }
    return true;
  }

  std::uint64_t bytes() const { return bytes_; }
  void write(std::vector<std::uint64_t>& offsets) const {
    for (const Place& place : placed_) offsets[place.number] = place.begin;
  }

 private:
  struct Place {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint32_t birth = 0;
    std::uint32_t death = 0;
    std::uint32_t number = 0;
  };

  std::uint64_t lowest_place(const Item& item) const {
    std::uint64_t at = 0;
    for (const Place& place : placed_) {
      if (place.begin >= at + item.bytes) break;
      if (place.end > at && place.birth < item.death && item.birth < place.death) at = place.end;
    }
    return at;
  }

  std::vector<Place> placed_;  // Sorted by where they begin.
  std::uint64_t bytes_ = 0;
};

using Order = bool (*)(const Item&, const Item&);

bool largest_first(const Item& a, const Item& b) {
  return std::tuple(b.bytes, b.lifetime(), a.birth) < std::tuple(a.bytes, a.lifetime(), b.birth);
}
bool most_byte_time_first(const Item& a, const Item& b) {
  return std::tuple(b.bytes * b.lifetime(), a.birth) < std::tuple(a.bytes * a.lifetime(), b.birth);
}
bool longest_first(const Item& a, const Item& b) {
  return std::tuple(b.lifetime(), b.bytes, a.birth) < std::tuple(a.lifetime(), a.bytes, b.birth);
}
bool first_born_first(const Item& a, const Item& b) {
  return a.birth < b.birth;
}

}  // namespace

Layout lay_out(const Iteration& iteration) {
  Layout layout;
  layout.stream = main_stream(iteration);
  layout.offsets.assign(iteration.size(), Layout::nowhere);
  std::vector<Item> items = items_of(iteration, layout.stream);
  layout.live_peak = live_peak(items, iteration.size());
  layout.bytes = Layout::nowhere;
  for (const Order order : {largest_first, most_byte_time_first, longest_first, first_born_first}) {
    std::sort(items.begin(), items.end(), order);
    Packing packing;
    if (packing.pack(items, layout.bytes) && packing.bytes() < layout.bytes) {
      layout.bytes = packing.bytes();
      packing.write(layout.offsets);
    }
    if (layout.bytes <= layout.live_peak || items.size() > many_blocks) break;
  }
  return layout;
}

}  // namespace headroom::allocator
