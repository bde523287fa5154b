// SPDX-License-Identifier: Apache-2.0
// `headroom replay`: would this sequence of allocations have fitted, under these rules?
#include "allocator/replay/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "allocator/models/exact_policy.h"
#include "allocator/models/make_policy.h"
#include "allocator/replay/iteration_ends.h"
#include "base/bytes.h"
#include "base/document.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/refuse_outputs.h"
#include "cli/replay_files.h"
#include "cli/replay_input.h"
#include "machine/clock.h"
#include "machine/terminal.h"
#include "machine/user_files.h"
#include "report/replay_curve.h"
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
  std::optional<std::uint32_t> device;
  std::string html;
  std::string exported;
  bool min_capacity = false;
  bool calls_per_event = false;
  bool json = false;
};

report::ReplayRow replay_under(const std::string& name, const allocator::Trace& trace,
                               std::optional<std::uint64_t> capacity,
                               const std::vector<std::uint64_t>& iteration_ends) {
  report::ReplayRow row;
  row.policy = name;
  row.capacity_bytes = capacity;
  row.iteration_ends = iteration_ends;
  const auto policy = *make_policy(name, capacity.value_or(unlimited_capacity_bytes));
  const std::uint64_t start = machine::monotonic_ns();
  row.result = allocator::replay(trace, *policy, report::steady_marks(iteration_ends));
  const std::uint64_t took = machine::monotonic_ns() - start;
  if (row.result.events > 0)
    row.ns_per_event = static_cast<double>(took) / static_cast<double>(row.result.events);
  return row;
}

// Replays in other capacities what was replayed in one, as far as that was asked for.
void search_capacities(const Options& options, const allocator::Trace& trace,
                       std::uint64_t live_peak_bytes, report::ReplayRow& row) {
  const auto make = [&](std::uint64_t bytes) { return *make_policy(row.policy, bytes); };
  row.min_capacity_wanted = options.min_capacity;
  if (options.min_capacity) row.min_capacity_bytes = allocator::find_min_capacity(trace, make);
  if (!options.calls_per_event) return;
  std::optional<std::uint64_t> steady_from;
  if (!row.iteration_ends.empty()) steady_from = row.iteration_ends.front();
  row.call_curve = allocator::measure_call_curve(trace, live_peak_bytes, steady_from, make);
}

// Checks everything that was typed before any time is spent.
Status check(const Options& options) {
  for (const std::string& name : options.policies) HEADROOM_CHECK(make_policy(name, 0));
  if (!options.capacity.empty()) HEADROOM_CHECK(parse_bytes(options.capacity));
  if (!options.exported.empty() && options.policies.size() > 1)
    return Error{Errc::invalid, "--export writes what one policy did, but several were given",
                 "--policy " + options.policies.front() + " --export " + options.exported};
  return Done{};
}

// A trace is asked about headroom; a snapshot, about every form of it that there is.
std::vector<std::string> default_policies(const ReplayInput& input) {
  std::vector<std::string> names = {"headroom"};
  if (!input.snapshot) return names;
  const auto& all = allocator::policy_names();
  const std::string without_pages = "headroom-no-vmm";
  if (std::find(all.begin(), all.end(), without_pages) != all.end()) names.push_back(without_pages);
  return names;
}

std::optional<std::uint64_t> capacity_of(const Options& options, const ReplayInput& input) {
  if (!options.capacity.empty()) return parse_bytes(options.capacity)->value;
  return input.capacity_bytes;
}

void print_json(const report::TraceFacts& facts, const report::ReplayRow& row,
                const ReplayInput& input, const Context& context) {
  Json json = report::to_json(facts, row);
  if (input.snapshot) json["snapshot"] = report::to_json(*input.snapshot);
  if (input.recording) json["recording"] = report::to_json(*input.recording);
  context.printer.print_json(json, -1);
}

int replay_input(const Options& options, const ReplayInput& input, const Context& context) {
  const auto capacity = capacity_of(options, input);
  allocator::ExactPolicy exact(UINT64_MAX);
  const allocator::ReplayResult ideal = allocator::replay(input.trace, exact);
  const report::TraceFacts facts{options.trace, input.trace.events.size(),
                                 ideal.usage.live_peak_bytes};
  const auto names = options.policies.empty() ? default_policies(input) : options.policies;
  const auto iteration_ends = allocator::find_iteration_ends(input.trace);
  std::vector<report::ReplayRow> rows;
  bool completed = true;
  for (const std::string& name : names) {
    report::ReplayRow row = replay_under(name, input.trace, capacity, iteration_ends);
    search_capacities(options, input.trace, facts.peak_live_bytes, row);
    completed = completed && row.result.completed;
    if (options.json) print_json(facts, row, input, context);
    rows.push_back(std::move(row));
  }
  if (!options.json) {
    const std::size_t width = machine::stdout_width();
    if (input.snapshot)
      context.printer.print(report::introduce(options.trace, *input.snapshot, width));
    if (input.recording)
      context.printer.print(report::introduce(options.trace, *input.recording, width));
    context.printer.print(report::to_text(facts, rows, width));
    context.printer.print(report::call_curves(facts, rows, width));
    if (input.snapshot) context.printer.print(report::answer(*input.snapshot, facts, rows, width));
    // About a snapshot that was answered already, unless nothing could have helped.
    if (!input.snapshot || capacity.value_or(UINT64_MAX) < facts.peak_live_bytes)
      context.printer.print(report::advice(facts, rows, width));
  }
  const ReplayFiles files{options.html, options.exported, !options.policies.empty()};
  if (auto written = write_replay_files(files, input, facts, rows); !written)
    return print_error(context, written.error(), exit_could_not_look);
  return completed ? exit_ok : exit_findings;
}

int run_replay(const Options& options, const Context& context) {
  if (!options.html.empty() || !options.exported.empty()) context.printer.finish_first();
  if (const auto good = check(options); !good)
    return print_error(context, good.error(), exit_usage);
  const auto outputs = to_outputs({options.html, options.exported});
  if (const auto refused = refuse_outputs(outputs, {{options.trace}, {}}, context)) return *refused;
  const auto text = machine::read_file(options.trace, trace_limit_bytes);
  if (!text) {
    Error error = text.error();
    error.next =
        "give the path of a trace, which headroom run JOB.toml --trace FILE records, of a PyTorch "
        "memory snapshot, or of a flight recording";
    return print_error(context, error, exit_could_not_look);
  }
  const auto input = parse_replay_input(*text, options.device);
  if (!input) return print_error(context, Error(input.error()).in(options.trace), exit_usage);
  return replay_input(options, *input, context);
}

// A shell's variable that is not set, most often: what was meant must not be left out in silence.
std::string refuse_empty(const std::string& value) {
  return value.empty() ? "expected a value, found an empty one" : "";
}

}  // namespace

void add_replay(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "replay", "Replay recorded allocations under several allocators, and show which would fit");
  command
      ->add_option("TRACE", options->trace,
                   "A trace (lines \"a ID BYTES\" and \"f ID\"), a PyTorch memory snapshot "
                   "(pickle), or a flight "
                   "recording")
      ->type_name("TRACE")
      ->required();
  command
      ->add_option("--policy", options->policies,
                   "The allocator to replay under; may be repeated (default: headroom; for a "
                   "snapshot also headroom-no-vmm)")
      ->type_name(join(allocator::policy_names(), "|"))
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option(
          "--capacity", options->capacity,
          "The memory of the device, such as 16GiB (default: unlimited; for a snapshot that ends "
          "in an out-of-memory error, what the process could have had; for a flight recording, "
          "what it "
          "had)")
      ->type_name("SIZE")
      ->check(refuse_empty);
  command
      ->add_option("--device", options->device,
                   "The device of a snapshot (default: the one with the most events)")
      ->type_name("N");
  command
      ->add_option("--html", options->html,
                   "Also write a page that shows the address space over time")
      ->type_name("FILE")
      ->check(refuse_empty);
  command
      ->add_option("--export", options->exported,
                   "Also write what the allocator did as a PyTorch memory snapshot, for "
                   "pytorch.org/memory_viz; without --policy, a flight recording as it was")
      ->type_name("FILE")
      ->check(refuse_empty);
  command->add_flag("--min-capacity", options->min_capacity,
                    "Find the smallest capacity that is enough");
  command->add_flag(
      "--calls-per-event", options->calls_per_event,
      "Also show how many device calls an event costs with 0 to 100 % more memory than is live");
  command->add_flag("--json", options->json, "Print one JSON object a line (headroom.replay/1)");
  command->footer(
      "Exit: 0 every replay completed, 1 one ran out of memory, 2 wrong usage or a damaged trace, "
      "3 "
      "could not read or write.\n\n"
      "Examples:\n"
      "  headroom replay snapshot.pickle                         would headroom have finished it?\n"
      "  headroom replay trace.txt --policy torch --min-capacity   how much PyTorch would need");
  command->callback([options, &context] { context.exit_code = run_replay(*options, context); });
}

}  // namespace headroom::cli
