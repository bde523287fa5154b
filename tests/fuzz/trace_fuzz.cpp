// SPDX-License-Identifier: Apache-2.0
// An allocation trace, and its replay: a trace that parses can be run under every policy, within a
// small capacity and with plenty.
#include "allocator/models/make_policy.h"
#include "allocator/replay/replay.h"
#include "allocator/replay/trace.h"
#include "base/bytes.h"
#include "fuzz.h"

namespace headroom::fuzz {
namespace {

void check_run(const allocator::Trace& trace, const std::string& name, std::uint64_t capacity) {
  const auto policy = allocator::make_policy(name, capacity);
  require(policy.has_value());
  const auto result = allocator::replay(trace, **policy);
  const allocator::Usage& usage = result.usage;
  require(result.completed != result.failed_at.has_value());
  require(usage.live_bytes <= usage.live_peak_bytes);
  require(usage.live_peak_bytes <= usage.reserved_peak_bytes);
  require(usage.reserved_peak_bytes <= capacity);
  std::uint64_t live = 0;
  for (const auto component : allocator::all_components) live += usage.live[component];
  require(live == usage.live_bytes);
}

}  // namespace
}  // namespace headroom::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const auto trace = allocator::parse_trace(fuzz::to_text(data, size));
  if (!trace) {
    fuzz::require(trace.error().message.starts_with("line "));
    return 0;
  }
  fuzz::require(trace->objects <= trace->events.size());
  for (const std::string& name : allocator::policy_names()) {
    fuzz::check_run(*trace, name, (32_MiB).value);
    // Our own allocator makes every page, which takes a sanitizer seconds where there are millions.
    const bool pages = name.starts_with("headroom");
    fuzz::check_run(*trace, name, pages ? (4_GiB).value : allocator::unlimited_capacity_bytes);
  }
  return 0;
}
