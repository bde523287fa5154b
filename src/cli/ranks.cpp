// SPDX-License-Identifier: Apache-2.0
// headroom ranks: what `headroom run --ranks N` supervises in place of the command, which this
// starts once for each rank. Not for people, so no help names it.
#include "run/command/ranks.h"

#include <algorithm>
#include <memory>

#include "cli/commands.h"

namespace headroom::cli {
namespace {

struct Options {
  std::uint32_t count = 1;
  std::string lost = "stop";
  std::uint64_t grace_ms = 10000;
};

int run(const Options& options, const Context& context) {
  const auto dashes = std::find(context.words.begin(), context.words.end(), "--");
  run::RankJob job;
  if (dashes != context.words.end()) job.argv.assign(dashes + 1, context.words.end());
  if (job.argv.empty() || options.count == 0 || options.count > run::most_ranks) {
    return print_error(context,
                       {Errc::invalid, "ranks: expected a command after --, and at most 16 ranks",
                        "headroom run --ranks 2 -- CMD"},
                       exit_usage);
  }
  job.environment = run::to_variables(context.environment);
  job.ranks = options.count;
  job.lost = run::parse_lost_rank(options.lost).value_or(run::LostRank::stop);
  job.grace = supervisor::Time{options.grace_ms};
  const auto ended =
      run::run_ranks(job, [&context](const std::string& line) { context.printer.note(line); });
  if (!ended) {
    constexpr int not_found = 127, not_run = 126;  // A shell's.
    context.printer.tell(ended.error());
    return ended.error().code == Errc::not_found ? not_found : not_run;
  }
  if (ended->signal) run::end_as(*ended);
  return ended->code;
}

}  // namespace

void add_ranks(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("ranks", "Start a command's ranks")->group("");
  command->add_option("--count", options->count);
  command->add_option("--lost-rank", options->lost);
  command->add_option("--grace", options->grace_ms);
  command->callback([options, &context] { context.exit_code = run(*options, context); });
}

}  // namespace headroom::cli
