// SPDX-License-Identifier: Apache-2.0
// What an event of a trace costs under one of our policies, as one line of JSON: the counterpart of
// torch_peer, with which bench/allocator_table.py runs it by turns.
//   --backend host        real pages: needs as much free memory as the capacity (only `headroom`)
//   --backend simulated   pages that are only counted
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "allocator/backends/host.h"
#include "allocator/headroom/headroom_allocator.h"
#include "allocator/models/make_policy.h"
#include "event_times.h"
#include "replay_options.h"

namespace headroom::bench {
namespace {

int print_times(const allocator::Trace& trace, allocator::Policy& policy, int repeat) {
  const auto times = EventTimer(trace, policy).measure(repeat);
  if (!times) {
    fmt::print(stderr, "the trace does not fit; give more --capacity\n");
    return 1;
  }
  fmt::print(R"({{"ns_per_event": {:.2f}, "median_ns": {:.2f}, "p99_9_ns": {:.1f}, )"
             R"("warm_calls": {}}})"
             "\n",
             times->ns_per_event, times->median_ns, times->p99_9_ns, times->warm_calls);
  return 0;
}

int run(const allocator::Trace& trace, const Options& options) {
  const auto capacity = read_size(options.at("--capacity"));
  const auto repeat = parse_u64(options.at("--repeat"));
  if (!capacity || !repeat || *repeat > 1000) return 2;
  const std::string& name = options.at("--policy");
  if (options.at("--backend") == "host" && name == "headroom") {
    auto backend = allocator::HostBackend::create();
    if (!backend) {
      fmt::print(stderr, "{}\n", backend.error().message);
      return 3;
    }
    allocator::HeadroomAllocator policy(**backend, *capacity);
    return print_times(trace, policy, static_cast<int>(*repeat));
  }
  const auto policy = allocator::make_policy(name, *capacity);
  if (!policy) {
    fmt::print(stderr, "{}\n", policy.error().message);
    return 2;
  }
  return print_times(trace, **policy, static_cast<int>(*repeat));
}

}  // namespace
}  // namespace headroom::bench

int main(int argc, char** argv) {
  using namespace headroom::bench;
  const auto options = read_options(argc, argv,
                                    {{"--policy", "headroom"},
                                     {"--backend", "simulated"},
                                     {"--capacity", "64TiB"},
                                     {"--repeat", "5"}});
  if (!options) return 2;
  const auto trace = read_trace(argv[1]);
  return trace ? run(closed(*trace), *options) : 2;
}
