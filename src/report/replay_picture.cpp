// SPDX-License-Identifier: Apache-2.0
#include "report/replay_picture.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "allocator/models/counting_device.h"
#include "allocator/replay/address_ranges.h"
#include "base/bytes.h"
#include "base/require.h"

namespace headroom::report {
namespace {

using allocator::BlockLife;
using allocator::HeldBytes;
using allocator::ReplayHistory;

constexpr std::uint64_t unit = allocator::CountingDevice::unit_bytes;

// Address → place, without the units that no block was ever in.
class Places {
 public:
  explicit Places(const std::vector<BlockLife>& blocks) {
    allocator::AddressRanges ranges;
    for (const BlockLife& block : blocks)
      ranges.add(round_down(block.address, unit),
                 round_up(block.address + std::max<std::uint64_t>(block.bytes, 1), unit),
                 [](std::uint64_t, std::uint64_t) {});
    for (const auto& [begin, end] : ranges) {
      starts_.push_back({begin, bytes_});
      bytes_ += end - begin;
    }
  }

  // Requires: a block had this address.
  std::uint64_t of(std::uint64_t address) const {
    const auto after =
        std::upper_bound(starts_.begin(), starts_.end(), address,
                         [](std::uint64_t a, const Start& start) { return a < start.address; });
    require(after != starts_.begin(), "a block had the address whose place is wanted");
    return std::prev(after)->place + address - std::prev(after)->address;
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Start {
    std::uint64_t address;
    std::uint64_t place;
  };
  std::vector<Start> starts_;
  std::uint64_t bytes_ = 0;
};

std::vector<HeldPoint> thin_out(const std::vector<HeldBytes>& held, std::size_t most_pieces) {
  const std::size_t piece = std::max<std::size_t>(1, (held.size() + most_pieces - 1) / most_pieces);
  const auto less_live = [](const HeldBytes& a, const HeldBytes& b) { return a.live < b.live; };
  const auto less_reserved = [](const HeldBytes& a, const HeldBytes& b) {
    return a.reserved < b.reserved;
  };
  std::vector<HeldPoint> points;
  for (std::size_t begin = 0; begin < held.size(); begin += piece) {
    const auto first = held.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last =
        held.begin() + static_cast<std::ptrdiff_t>(std::min(begin + piece, held.size()));
    std::array moments = {std::min_element(first, last, less_live),
                          std::max_element(first, last, less_live),
                          std::max_element(first, last, less_reserved), std::prev(last)};
    std::sort(moments.begin(), moments.end());
    for (const auto moment : moments) {
      const auto event = static_cast<std::uint64_t>(moment - held.begin());
      if (!points.empty() && points.back().event == event) continue;
      points.push_back({event, moment->live, moment->reserved});
    }
  }
  return points;
}

double area(const DrawnBlock& block) {
  return static_cast<double>(block.bytes) * static_cast<double>(block.end - block.begin);
}

}  // namespace

ReplayPicture make_replay_picture(ReplayRow row, const ReplayHistory& history,
                                  std::size_t most_pieces, std::size_t most_blocks) {
  require(most_pieces > 0 && most_blocks > 0, "a picture may have a piece and a block at least");
  ReplayPicture picture;
  picture.row = std::move(row);
  picture.events = history.held.size();
  picture.held = thin_out(history.held, most_pieces);
  const Places places(history.blocks);
  picture.address_bytes = places.bytes();
  picture.all_blocks = history.blocks.size();
  for (const BlockLife& block : history.blocks)
    picture.blocks.push_back({block.begin, std::min(block.end, picture.events),
                              places.of(block.address), block.bytes, block.tag});
  if (picture.blocks.size() > most_blocks) {
    std::nth_element(picture.blocks.begin(),
                     picture.blocks.begin() + static_cast<std::ptrdiff_t>(most_blocks),
                     picture.blocks.end(),
                     [](const DrawnBlock& a, const DrawnBlock& b) { return area(a) > area(b); });
    picture.blocks.resize(most_blocks);
  }
  std::sort(picture.blocks.begin(), picture.blocks.end(),
            [](const DrawnBlock& a, const DrawnBlock& b) {
              return std::pair{a.place, a.begin} < std::pair{b.place, b.begin};
            });
  return picture;
}

}  // namespace headroom::report
