// SPDX-License-Identifier: Apache-2.0
// `headroom replay`: would this sequence of allocations have fitted, under these rules?
#include "allocator/replay.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "allocator/exact_policy.h"
#include "allocator/make_policy.h"
#include "allocator/trace.h"
#include "base/bytes.h"
#include "base/text.h"
#include "cli/commands.h"
#include "machine/clock.h"
#include "machine/user_files.h"
#include "report/replay_report.h"

namespace headroom::cli {
namespace {

using allocator::make_policy;
using allocator::unlimited_capacity_bytes;

constexpr std::size_t trace_limit_bytes = std::size_t{4} << 30U;

struct Options {
  std::string trace;
  std::vector<std::string> policies;
  std::string capacity;
  bool min_capacity = false;
  bool json = false;
};

report::ReplayRow replay_under(const std::string& name, const allocator::Trace& trace,
                               std::optional<std::uint64_t> capacity) {
  report::ReplayRow row;
  row.policy = name;
  row.capacity_bytes = capacity;
  const auto policy = *make_policy(name, capacity.value_or(unlimited_capacity_bytes));
  const std::uint64_t start = machine::monotonic_ns();
  row.result = allocator::replay(trace, *policy);
  const std::uint64_t took = machine::monotonic_ns() - start;
  if (row.result.events > 0)
    row.ns_per_event = static_cast<double>(took) / static_cast<double>(row.result.events);
  return row;
}

// Checks everything that was typed before any time is spent.
Status check(const Options& options) {
  for (const std::string& name : options.policies) HEADROOM_CHECK(make_policy(name, 0));
  if (!options.capacity.empty()) HEADROOM_CHECK(parse_bytes(options.capacity));
  return Done{};
}

int run_replay(const Options& options) {
  if (const auto good = check(options); !good) return print_error(good.error(), exit_usage);
  const auto text = machine::read_file(options.trace, trace_limit_bytes);
  if (!text) {
    Error error = text.error();
    error.next = "give the path of a trace; headroom run JOB.toml --trace FILE records one";
    return print_error(error, exit_could_not_look);
  }
  auto trace = allocator::parse_trace(*text);
  if (!trace) return print_error(std::move(trace).error().in(options.trace), exit_usage);

  std::optional<std::uint64_t> capacity;
  if (!options.capacity.empty()) capacity = parse_bytes(options.capacity)->value;
  allocator::ExactPolicy exact(UINT64_MAX);
  const allocator::ReplayResult ideal = allocator::replay(*trace, exact);
  const report::TraceFacts facts{options.trace, trace->events.size(), ideal.usage.live_peak_bytes};

  std::vector<report::ReplayRow> rows;
  bool completed = true;
  for (const std::string& name : options.policies) {
    report::ReplayRow row = replay_under(name, *trace, capacity);
    row.min_capacity_wanted = options.min_capacity;
    if (options.min_capacity)
      row.min_capacity_bytes = allocator::find_min_capacity(
          *trace, [&](std::uint64_t bytes) { return *make_policy(name, bytes); });
    completed = completed && row.result.completed;
    if (options.json) fmt::print("{}\n", report::to_json(facts, row).dump());
    rows.push_back(std::move(row));
  }
  if (!options.json) fmt::print("{}", report::to_text(facts, rows));
  return completed ? exit_ok : exit_findings;
}

}  // namespace

void add_replay(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  options->policies = {"headroom"};
  CLI::App* command = app.add_subcommand(
      "replay", "Replay an allocation trace: does it fit, under which allocator, in how much?");
  command->add_option("trace", options->trace, "The trace: a file of lines a ID BYTES and f ID")
      ->required();
  command
      ->add_option("--policy", options->policies,
                   fmt::format("One of {}; may be given several times (default: headroom)",
                               join(allocator::policy_names(), ", ")))
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--capacity", options->capacity,
                      "The device's memory, such as 16GiB (default: unlimited)");
  command->add_flag("--min-capacity", options->min_capacity,
                    "Search the smallest capacity that is enough");
  command->add_flag("--json", options->json, "One JSON object a line (headroom.replay/1)");
  command->callback([options, &context] { context.exit_code = run_replay(*options); });
}

}  // namespace headroom::cli
