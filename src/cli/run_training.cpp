// SPDX-License-Identifier: Apache-2.0
#include "cli/run_training.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "cli/calibration.h"
#include "cli/host_memory.h"
#include "cli/past_runs.h"
#include "estimate/plan.h"
#include "machine/program.h"
#include "report/plan_text.h"
#include "run/job_file.h"
#include "run/job_ranks.h"

namespace headroom::cli {
namespace {

Result<estimate::Plan> plan_job(const run::LoadedJob& loaded, const std::string& path) {
  if (loaded.job.engine.kind != estimate::EngineKind::headroom) {
    return Error{
        Errc::unsupported,
        fmt::format("engine.kind: expected \"headroom\" or \"command\", found \"{}\"; this version "
                    "runs its own trainer, or a command of yours",
                    to_string(loaded.job.engine.kind)),
        fmt::format("write [engine] kind = \"headroom\", or kind = \"command\" with command = "
                    "[\"python\", \"train.py\"], or only plan it: headroom plan {}",
                    path)};
  }
  HEADROOM_TRY(const estimate::Device device, estimate::find_device(loaded.job));
  return estimate::make_plan(loaded.job, loaded.model, device);
}

static_assert(run::most_job_ranks == run::most_ranks);

// A job whose layers are split says itself how many ranks it has: one for each stage.
Result<RankChoice> choose_ranks(const run::LoadedJob& loaded, const std::string& path,
                                const RankChoice& asked) {
  const std::uint64_t stages = loaded.job.engine.stages;
  if (stages == 1) return asked;
  if (asked.ranks != 1)
    return Error{Errc::unsupported,
                 fmt::format("--ranks: expected none, because engine.stages = {} of the job starts "
                             "as many ranks, and they cannot share micro-batches as well; found "
                             "--ranks {}",
                             stages, asked.ranks == 0 ? "auto" : std::to_string(asked.ranks)),
                 "headroom run " + path};
  return RankChoice{.ranks = static_cast<std::uint32_t>(stages), .lost = asked.lost};
}

// The plan of each rank. Its job is the whole one's but for the micro-batches in a step.
Result<estimate::Plan> plan_ranks(const run::LoadedJob& loaded, const std::string& path,
                                  const RankChoice& choice) {
  HEADROOM_TRY(estimate::Plan plan, plan_job(loaded, path));
  if (choice.ranks == 1 || !plan.stages.empty()) return plan;
  if (choice.ranks == 0)
    return Error{Errc::invalid,
                 "--ranks auto: expected a number of ranks, because headroom-train computes on the "
                 "processor and has no GPUs to count",
                 "headroom run --ranks 2 " + path};
  return run::plan_rank(plan, loaded, choice.ranks);
}

// The words that start the trainer, once or once for each rank.
std::vector<std::string> trainer_words(const std::string& folder, const RankChoice& choice) {
  std::vector<std::string> words;
  if (choice.ranks > 1)
    words = {
        folder + "/headroom",      "ranks", "--count", std::to_string(choice.ranks), "--lost-rank",
        run::name_of(choice.lost), "--"};
  words.push_back(folder + "/headroom-train");
  return words;
}

// Its exit status, and its report, which it says to us alone.
Result<machine::ProgramAnswer> start_trainer(const TrainingOptions& options,
                                             const RankChoice& choice) {
  HEADROOM_TRY(const std::string folder, machine::program_folder());
  std::vector<std::string> argv = trainer_words(folder, choice);
  argv.insert(argv.end(), {options.job, "--json"});
  if (!options.output.empty()) argv.insert(argv.end(), {"--output", options.output});
  if (!options.trace.empty()) argv.insert(argv.end(), {"--trace", options.trace});
  if (options.resume) argv.emplace_back("--resume");
  for (const std::string& key : options.allowed_changes)
    argv.insert(argv.end(), {"--allow-change", key});
  if (options.quiet) argv.emplace_back("--quiet");
  auto answer = machine::ask_program(argv);
  if (answer) return answer;
  Error error = std::move(answer).error();
  error.next = "build headroom-train next to headroom: ./dev build";
  return error;
}

// As many of its kind at once, or all stages.
std::optional<Error> warn_of_all(estimate::Plan plan, std::uint32_t ranks) {
  plan.device_bytes *= ranks;
  if (!plan.stages.empty()) plan.device_bytes = 0;
  for (const estimate::StagePlan& stage : plan.stages) plan.device_bytes += stage.device_bytes;
  if (plan.capacity_bytes) *plan.capacity_bytes *= ranks;
  return warn_of_host_memory(plan);
}

std::string in_ranks(const estimate::Plan& plan, const RankChoice& choice) {
  if (choice.ranks == 1) return "";
  return fmt::format(", in {} of {} ranks", plan.stages.empty() ? "each" : "the largest",
                     choice.ranks);
}

// ", about 12 min for 4 epochs"; nothing where that is not known.
std::string duration_of(const report::JobTime& time) {
  if (!time.estimate || !time.estimate->epoch) return "";
  const auto epochs = time.estimate->epochs;
  return fmt::format(
      ", about {} for {} {}",
      report::time_to_text(time.estimate->epoch->likely * static_cast<double>(epochs)), epochs,
      epochs == 1 ? "epoch" : "epochs");
}

// A trainer that a signal ended has said nothing itself. The kernel ends it first where memory runs
// out all the same.
Error ended_by_signal(int number) {
  constexpr int killed = 9;
  return {
      Errc::not_found,
      fmt::format("expected the run to end by itself, but signal {} ended headroom-train", number),
      fmt::format(
          "{}the same command with --resume continues from the last checkpoint, if there is one",
          number == killed ? "dmesg or journalctl -k shows whether memory ran out; " : "")};
}

}  // namespace

int refuse_plan(const estimate::Plan& plan, const run::LoadedJob& loaded, const std::string& path,
                const Context& context) {
  context.printer.say(report::to_text(plan, loaded.model) + "\n");
  const std::string next = plan.advice.empty()
                               ? "change the job as said above"
                               : fmt::format("in {} write {}, then the same command again", path,
                                             report::to_text(plan.advice.front().change));
  return print_error(context,
                     {Errc::out_of_memory, "not started: the job would run out of memory", next},
                     exit_findings);
}

int run_training(const TrainingOptions& options, const RankChoice& asked, const Context& context) {
  context.printer.finish_first();
  const auto loaded = run::load_job(options.job);
  if (!loaded) return print_error(context, loaded.error(), exit_usage);
  const auto ranks = choose_ranks(*loaded, options.job, asked);
  if (!ranks) return print_error(context, ranks.error(), exit_usage);
  const RankChoice& choice = *ranks;
  auto plan = plan_ranks(*loaded, options.job, choice);
  if (!plan) return print_error(context, std::move(plan).error().in(options.job), exit_usage);
  if (plan->fits == false) return refuse_plan(*plan, *loaded, options.job, context);
  if (const auto warning = warn_of_all(*plan, choice.ranks); warning && !options.quiet)
    print_error(context, *warning, exit_ok);
  // Ranks share the processor that one trainer was measured on.
  const report::JobTime time =
      choice.ranks == 1 ? find_job_time(*plan, *loaded, "/", context) : report::JobTime{};
  if (!options.quiet) {
    context.printer.note(
        fmt::format("planned peak {}{}{}{}", to_string(Bytes{plan->device_bytes}),
                    plan->capacity_bytes ? " of " + to_string(Bytes{*plan->capacity_bytes}) : "",
                    in_ranks(*plan, choice), duration_of(time)));
  }
  const auto ended = start_trainer(options, choice);
  if (!ended) return print_error(context, ended.error(), exit_could_not_look);
  // The history is of jobs whose report has all of their memory.
  if (plan->stages.empty()) remember_run(*plan, *loaded, ended->output, context);
  correct_calibration(time, *plan, ended->output, context);
  constexpr int by_signal = 128;  // As machine::ask_program answers.
  if (ended->status > by_signal)
    print_error(context, ended_by_signal(ended->status - by_signal), exit_could_not_look);
  return ended->status;
}

}  // namespace headroom::cli
