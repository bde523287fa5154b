// SPDX-License-Identifier: Apache-2.0
// Replays one of our traces through PyTorch's own allocator and prints what `headroom replay
// --json` prints, as far as it applies. Exit codes as there: 0 finished, 1 out of memory, 2 wrong
// usage.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "../event_times.h"
#include "../replay_options.h"
#include "allocator/models/exact_policy.h"
#include "allocator/models/make_policy.h"
#include "allocator/replay/replay.h"
#include "torch_peer_policy.h"

namespace headroom::peers {
namespace {

using allocator::Policy;
using allocator::unlimited_capacity_bytes;

struct Wanted {
  std::string policy;
  std::uint64_t capacity_bytes = 0;
  bool min_capacity = false;
  int repeat = 0;  // Timed replays.
};

std::optional<Wanted> wanted_of(const bench::Options& options) {
  Wanted wanted;
  wanted.policy = options.at("--policy");
  if (wanted.policy != "pytorch-native" && wanted.policy != "pytorch-expandable") {
    fmt::print(stderr, "{}: expected pytorch-native or pytorch-expandable\n", wanted.policy);
    return std::nullopt;
  }
  const std::string& capacity = options.at("--capacity");
  const auto size = capacity == "unlimited" ? unlimited_capacity_bytes : bench::read_size(capacity);
  const auto repeat = parse_u64(options.at("--repeat"));
  if (!size || !repeat || *repeat > 1000) return std::nullopt;
  wanted.capacity_bytes = *size;
  wanted.min_capacity = options.at("--min-capacity") == "yes";
  wanted.repeat = static_cast<int>(*repeat);
  return wanted;
}

std::string or_null(const std::optional<std::uint64_t>& value) {
  return value ? std::to_string(*value) : "null";
}

std::string times_of(const allocator::Trace& trace, const Wanted& wanted) {
  if (wanted.repeat == 0) return R"("ns_per_event": null)";
  const allocator::Trace cycle = bench::closed(trace);
  TorchPeerPolicy policy(wanted.capacity_bytes);
  const auto times = bench::EventTimer(cycle, policy).measure(wanted.repeat);
  if (!times) return R"("ns_per_event": null)";
  return fmt::format(R"("ns_per_event": {:.2f}, "median_ns": {:.2f}, "p99_9_ns": {:.1f})",
                     times->ns_per_event, times->median_ns, times->p99_9_ns);
}

int run(const allocator::Trace& trace, const Wanted& wanted) {
  allocator::ExactPolicy exact(unlimited_capacity_bytes);
  const std::uint64_t live_peak = allocator::replay(trace, exact).usage.live_peak_bytes;
  allocator::ReplayResult result;
  {
    TorchPeerPolicy policy(wanted.capacity_bytes);
    result = allocator::replay(trace, policy);
  }
  std::optional<std::uint64_t> min_capacity;
  if (wanted.min_capacity) {
    // One after the other: the search drops each policy before it makes the next.
    min_capacity = allocator::find_min_capacity(trace, [](std::uint64_t bytes) {
      return std::unique_ptr<Policy>(std::make_unique<TorchPeerPolicy>(bytes));
    });
  }
  fmt::print(
      R"({{"policy": "{}", "completed": {}, "failed_at": {}, "events": {}, "peak_live_bytes": {}, )"
      R"("peak_reserved_bytes": {}, "live_bytes": {}, "min_capacity_bytes": {}, "device_calls": {}, "device_ms": {:.3f}, {}}})"
      "\n",
      wanted.policy, result.completed, or_null(result.failed_at), trace.events.size(), live_peak,
      result.usage.reserved_peak_bytes, result.usage.live_bytes, or_null(min_capacity),
      result.usage.device_calls, static_cast<double>(result.usage.device_ns) / 1e6,
      times_of(trace, wanted));
  return result.completed ? 0 : 1;
}

}  // namespace
}  // namespace headroom::peers

int main(int argc, char** argv) {
  using namespace headroom;
  const auto options = bench::read_options(argc, argv,
                                           {{"--policy", "pytorch-native"},
                                            {"--capacity", "unlimited"},
                                            {"--min-capacity", "no"},
                                            {"--repeat", "0"}});
  const auto wanted = options ? peers::wanted_of(*options) : std::nullopt;
  if (!wanted) return 2;
  const auto trace = bench::read_trace(argv[1]);
  if (!trace) return 2;
  // Read by PyTorch when its allocator is first asked for anything.
  const bool expandable = wanted->policy == "pytorch-expandable";
  setenv("PYTORCH_CUDA_ALLOC_CONF",
         expandable ? "expandable_segments:True" : "expandable_segments:False", 1);
  return peers::run(*trace, *wanted);
}
