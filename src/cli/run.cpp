// SPDX-License-Identifier: Apache-2.0
// `headroom run`: plans a job, refuses what cannot fit, and runs what can.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "cli/commands.h"
#include "cli/host_memory.h"
#include "cli/past_runs.h"
#include "estimate/plan.h"
#include "machine/program.h"
#include "report/plan_text.h"
#include "run/job_file.h"

namespace headroom::cli {
namespace {

struct Options {
  std::string job;
  std::string output;
  std::string trace;
  bool resume = false;
  std::vector<std::string> allowed_changes;
  bool quiet = false;
};

Result<estimate::Plan> plan_job(const run::LoadedJob& loaded, const std::string& path) {
  if (loaded.job.engine.kind != estimate::EngineKind::headroom) {
    return Error{
        Errc::unsupported,
        fmt::format("engine.kind: expected \"headroom\", found \"{}\"; this version runs "
                    "only its own trainer",
                    to_string(loaded.job.engine.kind)),
        fmt::format("write [engine] kind = \"headroom\", or only plan it: headroom plan {}", path)};
  }
  HEADROOM_TRY(const estimate::Device device, estimate::find_device(loaded.job));
  return estimate::make_plan(loaded.job, loaded.model, device);
}

// Its exit status, and its report, which it says to us alone.
Result<machine::ProgramAnswer> start_trainer(const Options& options) {
  HEADROOM_TRY(const std::string folder, machine::program_folder());
  std::vector<std::string> argv = {folder + "/headroom-train", options.job, "--json"};
  if (!options.output.empty()) argv.insert(argv.end(), {"--output", options.output});
  if (!options.trace.empty()) argv.insert(argv.end(), {"--trace", options.trace});
  if (options.resume) argv.emplace_back("--resume");
  for (const std::string& key : options.allowed_changes)
    argv.insert(argv.end(), {"--allow-change", key});
  if (options.quiet) argv.emplace_back("--quiet");
  auto answer = machine::ask_program(argv);
  if (answer) return answer;
  Error error = std::move(answer).error();
  error.next = "build headroom-train beside headroom: ./dev build";
  return error;
}

// Why nothing was started, after the plan that shows it, and what to change.
int refuse(const estimate::Plan& plan, const run::LoadedJob& loaded, const std::string& path,
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

// A trainer that a signal ended has said nothing itself. The kernel ends it first where memory runs
// out all the same.
Error ended_by_signal(int number) {
  constexpr int killed = 9;
  return {
      Errc::not_found,
      fmt::format("expected the run to end by itself, found that signal {} ended headroom-train",
                  number),
      fmt::format("{}the same command with --resume goes on from the last checkpoint, if there "
                  "is one",
                  number == killed ? "dmesg or journalctl -k tells whether memory ran out; " : "")};
}

int run_job(const Options& options, const Context& context) {
  context.printer.finish_first();
  const auto loaded = run::load_job(options.job);
  if (!loaded) return print_error(context, loaded.error(), exit_usage);
  auto plan = plan_job(*loaded, options.job);
  if (!plan) return print_error(context, std::move(plan).error().in(options.job), exit_usage);
  if (plan->fits == false) return refuse(*plan, *loaded, options.job, context);
  if (const auto warning = warn_of_host_memory(*plan); warning && !options.quiet)
    print_error(context, *warning, exit_ok);
  if (!options.quiet) {
    context.printer.note(
        fmt::format("planned peak {}{}", to_string(Bytes{plan->device_bytes}),
                    plan->capacity_bytes ? " of " + to_string(Bytes{*plan->capacity_bytes}) : ""));
  }
  const auto ended = start_trainer(options);
  if (!ended) return print_error(context, ended.error(), exit_could_not_look);
  remember_run(*plan, *loaded, ended->output, context);
  constexpr int by_signal = 128;  // As machine::ask_program answers.
  if (ended->status > by_signal)
    print_error(context, ended_by_signal(ended->status - by_signal), exit_could_not_look);
  return ended->status;
}

}  // namespace

void add_run(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("run", "Plan a training job, refuse it if it cannot fit, and run it");
  command->add_option("job", options->job, "The job, a TOML or JSON file")->required();
  command->add_option("--output", options->output, "Folder for everything the run writes");
  command->add_option("--trace", options->trace,
                      "Record every allocation into this file, for headroom replay");
  CLI::Option* resume = command->add_flag("--resume", options->resume,
                                          "Go on from the checkpoint in the output folder");
  command
      ->add_option("--allow-change", options->allowed_changes,
                   "With --resume: a setting of the checkpoint that is meant to have another value "
                   "now")
      ->type_name("KEY")
      ->allow_extra_args(false)
      ->needs(resume);
  command->add_flag("--quiet", options->quiet, "Say nothing but what went wrong");
  command->callback([options, &context] { context.exit_code = run_job(*options, context); });
}

}  // namespace headroom::cli
