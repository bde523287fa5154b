// SPDX-License-Identifier: Apache-2.0
// `headroom run`: a job by headroom's own trainer, or any command under supervision.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/printable.h"
#include "base/shell_quote.h"
#include "cli/command_options.h"
#include "cli/commands.h"
#include "cli/run_command.h"
#include "cli/run_command_job.h"
#include "cli/run_training.h"
#include "machine/user_files.h"

namespace headroom::cli {
namespace {

constexpr const char* dashes = "--";

struct Options {
  TrainingOptions training;
  CommandOptions command;
  std::vector<std::string> stray;  // Words behind the job: a command without its "--".
};

// "headroom run OPTIONS -- CMD": the words behind the first "--".
struct Behind {
  bool has_dashes = false;
  std::vector<std::string> words;
};

Behind find_behind(const Context& context) {
  const auto found = std::find(context.words.begin(), context.words.end(), dashes);
  if (found == context.words.end()) return {};
  return {true, {found + 1, context.words.end()}};
}

// The first of these options that was typed.
std::string first_typed(const CLI::App& command, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (command.count(name) > 0) return name;
  }
  return "";
}

const std::vector<std::string> training_only = {"--trace", "--resume", "--allow-change"};

// Of the options of a command, those that a job of headroom's own trainer has not.
std::vector<std::string> command_only() {
  std::vector<std::string> names = CommandOptions::names();
  std::erase_if(names, [](const auto& name) { return name == "--ranks" || name == "--lost-rank"; });
  return names;
}

int refuse(const Context& context, std::string message, std::string next) {
  return print_error(context, {Errc::invalid, "run: " + std::move(message), std::move(next)},
                     exit_usage);
}

int run_behind(const CLI::App& command, const Options& options, const Behind& behind,
               const Context& context) {
  if (!options.training.job.empty())
    return refuse(context,
                  fmt::format("expected a job, or a command after --; found both, {} and {}",
                              options.training.job, behind.words.empty() ? "--" : behind.words[0]),
                  "headroom run -- CMD, or headroom run JOB.toml");
  if (behind.words.empty() || behind.words.front().empty())
    return refuse(context, "expected a command after --, found none",
                  "headroom run -- python train.py");
  auto wrong = first_typed(command, training_only);
  if (wrong.empty() && command.count("--output") > 0) wrong = "--output";
  if (!wrong.empty())
    return refuse(context,
                  fmt::format("{} is for a job of headroom's own trainer, found a command", wrong),
                  "headroom run --report FILE -- CMD writes what happened");
  return run_command(
      {.words = behind.words, .options = options.command, .quiet = options.training.quiet},
      context);
}

int run_job(const CLI::App& command, const Options& options, const Context& context) {
  const std::string& path = options.training.job;
  const auto job = run::load_command_job(path);
  if (!job) return print_error(context, job.error(), exit_usage);
  const std::string wrong = first_typed(command, *job ? training_only : command_only());
  if (wrong.empty() && *job)
    return run_command_job({**job, path, options.training.output, options.training.quiet},
                           options.command, context);
  if (wrong.empty()) {
    const auto ranks = parse_ranks(options.command);
    return ranks ? run_training(options.training, *ranks, context)
                 : print_error(context, ranks.error(), exit_usage);
  }
  if (machine::kind_of(path) || path == "-")
    return refuse(
        context,
        *job ? fmt::format("{} is for headroom's own trainer, and this job runs a command", wrong)
             : fmt::format("{} is for commands, and this job does not run one", wrong),
        *job ? "headroom run --report FILE JOB.toml writes what happened"
             : "set [engine] kind = \"command\", or type headroom run -- CMD");
  return refuse(context, fmt::format("expected a job file, found nothing at {}", path),
                fmt::format("headroom run {} ... -- {} runs it as a command", wrong, path));
}

int run(const CLI::App& command, const Options& options, const Context& context) {
  const Behind behind = find_behind(context);
  if (behind.has_dashes) return run_behind(command, options, behind, context);
  if (!options.stray.empty()) {
    std::vector<std::string> meant = {"headroom", "run", dashes, options.training.job};
    meant.insert(meant.end(), options.stray.begin(), options.stray.end());
    return refuse(context,
                  fmt::format("one argument too many: \"{}\"", printable(options.stray[0])),
                  shell_line(meant) + ": write a command after --");
  }
  if (options.training.job.empty())
    return refuse(context, "expected a job, or a command after --; found neither",
                  "headroom run -- python train.py, or headroom run JOB.toml");
  return run_job(command, options, context);
}

void add_training_options(CLI::App& command, TrainingOptions& options) {
  command.add_option("JOB", options.job, "The job: a TOML or JSON file")->type_name("JOB");
  command.add_option("--output", options.output, "The folder for everything that the run writes")
      ->type_name("DIR");
  command
      .add_option("--trace", options.trace,
                  "Record every allocation in this file, for headroom replay")
      ->type_name("FILE");
  CLI::Option* resume = command.add_flag("--resume", options.resume,
                                         "Continue from the checkpoint in the output folder");
  command
      .add_option("--allow-change", options.allowed_changes,
                  "With --resume: a setting that may differ from the checkpoint's; may be repeated")
      ->type_name("KEY")
      ->allow_extra_args(false)
      ->needs(resume);
  command.add_flag("--quiet", options.quiet, "Print errors only");
}

}  // namespace

int count_own_words(int argc, const char* const* argv) {
  constexpr int first_option = 2;
  if (argc < first_option) return argc;
  const std::string_view command = argv[1];
  if (command != "run" && command != "ranks") return argc;
  for (int i = first_option; i < argc; ++i) {
    if (std::string_view(argv[i]) == dashes) return i;
  }
  return argc;
}

void add_run(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("run", "Run a training job if it fits, or supervise any command");
  add_training_options(*command, options->training);
  command->add_option("COMMAND", options->stray, "The command to supervise, with its arguments")
      ->type_name("COMMAND");
  options->command.add_to(*command);
  command->footer(
      "The output of a command passes through unchanged. headroom's own messages go to standard "
      "error.\n\n"
      "Exit: the command's own code; 128 plus the signal's number if a signal ended it; 126 if it "
      "cannot be executed, 127 if there is no such program; 1 if headroom ended it. If nothing was "
      "started: 2 wrong usage, 3 something was missing.\n\n"
      "Examples:\n"
      "  headroom run -- python train.py                    smaller batches after an out of "
      "memory\n"
      "  headroom run --allocator -- python train.py        with headroom's allocator in its "
      "PyTorch\n"
      "  headroom run --memory 24GiB --restarts 3 -- ./job  limited, and started again after a "
      "crash\n"
      "  headroom run job.toml                              a job for headroom's own trainer\n"
      "  headroom run --ranks 2 job.toml                    the same in two processes");
  command->callback(
      [options, command, &context] { context.exit_code = run(*command, *options, context); });
}

}  // namespace headroom::cli
