// SPDX-License-Identifier: Apache-2.0
// Any bytes as a PyTorch memory snapshot: what it reads is written and read back the same, and its
// trace can be replayed under every policy.
#include "allocator/models/make_policy.h"
#include "allocator/replay/replay.h"
#include "allocator/replay/snapshot_trace.h"
#include "allocator/snapshot/snapshot.h"
#include "allocator/snapshot/snapshot_reader.h"
#include "allocator/snapshot/snapshot_writer.h"
#include "base/bytes.h"
#include "fuzz.h"

namespace headroom::fuzz {
namespace {

// Names are numbered anew, in the order in which the file shows them.
void check_round_trip(const allocator::Snapshot& snapshot) {
  const auto again = allocator::read_snapshot(allocator::to_pickle(snapshot), snapshot.device);
  if (snapshot.events.empty() && snapshot.segments.empty()) return;
  require(again.has_value());
  require(again->snapshot.events.size() == snapshot.events.size());
  require(again->snapshot.segments.size() == snapshot.segments.size());
  for (std::size_t i = 0; i < snapshot.events.size(); ++i) {
    require(again->snapshot.events[i].action == snapshot.events[i].action);
    require(again->snapshot.events[i].address == snapshot.events[i].address);
    require(again->snapshot.events[i].bytes == snapshot.events[i].bytes);
  }
}

void check_trace(const allocator::SnapshotTrace& made) {
  require(made.live_at_start <= made.trace.events.size());
  require(made.trace.objects <= made.trace.events.size());
  for (const std::string& name : allocator::policy_names()) {
    const auto policy = allocator::make_policy(name, (32_MiB).value);
    const auto result = allocator::replay(made.trace, **policy);
    require(result.usage.reserved_peak_bytes <= (32_MiB).value);
  }
}

}  // namespace
}  // namespace headroom::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const auto read = allocator::read_snapshot(fuzz::to_text(data, size));
  if (!read) {
    fuzz::require(!read.error().message.empty() && !read.error().next.empty());
    return 0;
  }
  fuzz::check_round_trip(read->snapshot);
  const auto made = allocator::to_trace(read->snapshot);
  if (made) fuzz::check_trace(*made);
  return 0;
}
