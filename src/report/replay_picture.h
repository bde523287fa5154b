// SPDX-License-Identifier: Apache-2.0
// What the page of a replay is drawn from, thinned out to what a screen shows: how much was live
// and reserved, event by event, and where the blocks lay.
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/replay/replay_history.h"
#include "report/replay_report.h"

namespace headroom::report {

// Right after an event, from 0.
struct HeldPoint {
  std::uint64_t event = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t reserved_bytes = 0;
};

// A block: events [begin, end), and its place among the addresses that any block ever had, with the
// units of 2 MiB left out in which there was none.
struct DrawnBlock {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t place = 0;
  std::uint64_t bytes = 0;
  allocator::Component tag = allocator::Component::other;
};

struct ReplayPicture {
  ReplayRow row;
  std::uint64_t events = 0;         // Replayed; the failed one included.
  std::vector<HeldPoint> held;      // By event.
  std::vector<DrawnBlock> blocks;   // By place; those with the largest bytes × events.
  std::uint64_t all_blocks = 0;     // Drawn or not.
  std::uint64_t address_bytes = 0;  // Where places end.
};

// Of every piece of the curve the highest and lowest moments and the last are kept. Requires:
// limits > 0.
ReplayPicture make_replay_picture(ReplayRow row, const allocator::ReplayHistory& history,
                                  std::size_t most_pieces, std::size_t most_blocks);

}  // namespace headroom::report
