// SPDX-License-Identifier: Apache-2.0
// A flight recorder's file, as a killed process or a bad disk leaves it: whatever can be read of it
// becomes a trace that can be replayed and a snapshot whose segments are tiled.
#include "allocator/models/exact_policy.h"
#include "allocator/replay/recording.h"
#include "allocator/replay/replay.h"
#include "allocator/replay/snapshot_of_heap.h"
#include "fuzz.h"

namespace headroom::fuzz {
namespace {

void check_tiled(const allocator::Snapshot& snapshot) {
  allocator::Address end = 0;
  for (const auto& segment : snapshot.segments) {
    require(segment.address >= end);
    end = segment.address;
    for (const auto& block : segment.blocks) {
      require(block.address == end);
      end += block.size_bytes;
    }
    require(end == segment.address + segment.total_bytes);
  }
}

}  // namespace
}  // namespace headroom::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const auto recording = allocator::parse_flight_record(fuzz::to_text(data, size));
  if (!recording) {
    fuzz::require(recording.error().message.starts_with("expected a flight recording"));
    return 0;
  }
  for (const auto& event : recording->events) {
    fuzz::require(event.requested <= event.bytes);
    fuzz::require(event.name < recording->names.size());
  }
  allocator::ExactPolicy policy(~std::uint64_t{0});
  fuzz::require(allocator::replay(allocator::to_trace(*recording), policy).completed);
  fuzz::check_tiled(allocator::to_snapshot(*recording));
  return 0;
}
