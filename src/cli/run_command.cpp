// SPDX-License-Identifier: Apache-2.0
#include "cli/run_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/shell_quote.h"
#include "base/text.h"
#include "cli/command_history.h"
#include "cli/injected_files.h"
#include "cli/refuse_outputs.h"
#include "cli/surroundings.h"
#include "findings/diagnosis.h"
#include "findings/job_gpus.h"
#include "knowledge/trainer_flags.h"
#include "machine/open_root.h"
#include "machine/process_handle.h"
#include "machine/program.h"
#include "machine/writable_files.h"
#include "probe/probe.h"
#include "probe/read_occupancy.h"
#include "report/run_json.h"
#include "report/run_text.h"
#include "run/command/apu_memory.h"
#include "run/command/environment.h"
#include "run/command/flag_file.h"
#include "run/command/guard.h"
#include "run/command/supervise.h"
#include "run/command/variables.h"

namespace headroom::cli {
namespace {

// What the tables and the machine say, read once before anything is started.
struct Ground {
  knowledge::GpuTables tables;
  knowledge::TrainerFlags flags;
  std::optional<machine::OpenRoot> root;
  run::LogRules rules;
  probe::Surroundings surroundings;
  std::optional<facts::Facts> facts;  // Nothing: the machine could not be looked at.
  std::optional<findings::Diagnosis> diagnosis;

  run::KnownMachine machine() const {
    return {facts ? &*facts : nullptr, diagnosis ? &*diagnosis : nullptr};
  }
};

std::string base_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return name.empty() ? path : name;
}

// The Python that the command itself names is the one whose packages matter.
std::string python_of(const std::vector<std::string>& words) {
  const bool has_path = words.front().find('/') != std::string::npos;
  return has_path && base_name(words.front()).starts_with("python") ? words.front() : "";
}

// Only this system and scratch roots of tests are acted on.
Status check_root(const machine::Files& files, const std::string& root) {
  const auto marker = "/" + std::string(machine::WritableFiles::scratch_marker);
  if (files.is_real() || files.exists(marker)) return Done{};
  return Error{Errc::not_this_system,
               fmt::format("--root {}: a command runs on this system; expected a test's scratch "
                           "root, found a captured machine",
                           root),
               "headroom run -- CMD, or headroom check --root " + root};
}

Status read_ground(const CommandQuestion& question, const Context& context, Ground& ground) {
  HEADROOM_TRY(ground.tables, knowledge::load_gpu_tables());
  HEADROOM_TRY(ground.flags, knowledge::load_trainer_flags());
  HEADROOM_TRY(auto root, machine::open_root(question.options.root));
  ground.root.emplace(std::move(root));
  HEADROOM_CHECK(check_root(ground.root->files, question.options.root));
  ground.surroundings =
      make_surroundings(context, python_of(question.words), ground.root->files.is_real());
  ground.surroundings.ask_kfd = false;  // This process would be one of KFD's until it ends.
  auto facts = probe::probe(ground.root->files, ground.tables, ground.surroundings);
  if (!facts) {
    context.printer.note(
        "headroom could not look at the machine, so the command's environment stays as it is: " +
        facts.error().message);
    return Done{};
  }
  ground.facts = *std::move(facts);
  ground.diagnosis = findings::diagnose({*ground.facts, ground.tables});
  return Done{};
}

// As many as jobs would use of the GPUs here, or of those that were named.
Result<std::uint32_t> count_ranks(const CommandQuestion& question, const RankChoice& choice,
                                  const Ground& ground) {
  if (choice.ranks > 0) return choice.ranks;
  const auto named = split(question.options.devices, ',').size();
  const std::size_t gpus = !question.options.devices.empty() ? named
                           : ground.facts ? findings::job_gpus(*ground.facts).size()
                                          : 0;
  if (gpus > 0) return static_cast<std::uint32_t>(std::min<std::size_t>(gpus, run::most_ranks));
  return Error{Errc::invalid, "--ranks auto: expected a GPU that jobs can use, found none",
               "headroom check, or --ranks 2, which shares the processors"};
}

// The words that start the ranks; none for one.
Result<std::vector<std::string>> make_launcher(const CommandQuestion& question,
                                               const RankChoice& choice, const Ground& ground,
                                               const supervisor::Policy& policy) {
  if (choice.lost == run::LostRank::restarts)
    return Error{Errc::invalid,
                 "--lost-rank restart: expected a job of headroom's own trainer, found a command, "
                 "which does not know how to come back to the other ranks",
                 "headroom run --ranks 2 --restarts 3 -- CMD, which starts all ranks again"};
  HEADROOM_TRY(const std::uint32_t ranks, count_ranks(question, choice, ground));
  if (ranks == 1) return std::vector<std::string>();
  HEADROOM_TRY(const std::string program, machine::program_path());
  return std::vector<std::string>{program,       "ranks",
                                  "--count",     std::to_string(ranks),
                                  "--lost-rank", question.options.lost_rank,
                                  "--grace",     std::to_string(policy.grace.count()),
                                  "--"};
}

Result<std::vector<std::string>> make_environment(const CommandQuestion& question,
                                                  const RankChoice& choice, const Ground& ground,
                                                  const Context& context) {
  run::CommandEnvironment environment{run::to_variables(context.environment), {}};
  if (!question.options.devices.empty())
    HEADROOM_CHECK(run::set_devices(question.options.devices, ground.machine(), environment));
  if (!question.options.keep_env) {
    environment =
        run::clean_environment(std::move(environment.variables), ground.machine(), ground.tables);
    for (const std::string& one : environment.said)
      context.printer.note(one + " (--keep-env leaves it)");
  }
  if (question.options.allocator) {
    HEADROOM_TRY(const auto files, find_injected_files());
    HEADROOM_TRY(const auto split, parse_split(question.options));
    environment.said.clear();
    HEADROOM_CHECK(run::inject_allocator(files, split, environment));
    for (const std::string& one : environment.said) context.printer.note(one);
  }
  if (choice.ranks != 1) {
    HEADROOM_TRY(const auto files, find_averager_files());
    HEADROOM_CHECK(run::inject_averager(files, environment));
  }
  return environment.variables;
}

// Says how much the command has to leave, tells its allocators, and returns what is to be watched.
Result<std::optional<Bytes>> set_guard(const CommandQuestion& question, const Ground& ground,
                                       std::vector<std::string>& environment,
                                       const Context& context) {
  constexpr const char* variable = "HEADROOM_ALLOCATOR_GUARD";
  HEADROOM_TRY(const run::GuardChoice choice, parse_guard(question.options));
  const bool is_users = question.options.guard.empty() && run::value_of(environment, variable);
  if (!choice.is_on && question.options.guard.empty()) return std::optional<Bytes>();
  const facts::Facts* facts = ground.facts ? &*ground.facts : nullptr;
  const auto occupancy =
      facts != nullptr && choice.is_on
          ? probe::read_occupancy(ground.root->files, facts->gpus, machine::own_pid())
          : facts::Occupancy{};
  const run::CommandGuard guard = run::make_guard(choice, facts, occupancy);
  if (!is_users) run::set(environment, variable, guard.variable);
  if (question.quiet || is_users) return guard.system;
  for (const std::string& one : guard.said) context.printer.note(one);
  return guard.system;
}

// Tells programs under headroom's allocator what an APU has, unless the user does.
void set_totals(const CommandQuestion& question, const Ground& ground,
                std::vector<std::string>& environment) {
  constexpr const char* variable = "HEADROOM_ALLOCATOR_TOTAL";
  if (!question.options.allocator || !ground.facts || run::value_of(environment, variable)) return;
  if (const std::string totals = run::apu_totals(*ground.facts); !totals.empty())
    run::set(environment, variable, totals);
}

// What was typed wins over what a job says.
supervisor::Settings merge(const supervisor::Settings& typed, const supervisor::Settings& of_job) {
  supervisor::Settings merged = typed;
  if (!merged.micro) merged.micro = of_job.micro;
  if (!merged.accumulate) merged.accumulate = of_job.accumulate;
  if (merged.resume.empty()) merged.resume = of_job.resume;
  return merged;
}

// What was typed for a word that the command lacks would be believed to work.
void say_unused(const CommandQuestion& question, const supervisor::Settings& typed,
                const supervisor::CommandTemplate& command, const Context& context) {
  if (!typed.micro || command.takes_micro()) return;
  context.printer.note(
      fmt::format("--settings: {} has no {{micro}} and no known flag, so micro={} changes nothing",
                  shell_line({question.words.front()}), *typed.micro));
}

class PrinterTalk : public run::Talk {
 public:
  PrinterTalk(const CommandQuestion& question, std::string name, report::RunWords words,
              const Context& context)
      : question_(question), name_(std::move(name)), words_(std::move(words)), context_(context) {}

  void started(const std::string& limited_by) override {
    if (question_.quiet) return;
    supervisor::RunReport begun;
    begun.name = name_;
    begun.limited_by = limited_by;
    context_.printer.note(report::start_line(begun, words_));
  }
  void say(const std::string& text, const std::string& next, bool is_in_line) override {
    if (is_in_line) context_.printer.say("\n");
    context_.printer.note(text);
    if (!next.empty()) context_.printer.note("next: " + next);
  }

 private:
  const CommandQuestion& question_;
  std::string name_;
  report::RunWords words_;
  const Context& context_;
};

void tell_end(const run::SupervisedRun& ended, const CommandQuestion& question,
              const report::RunWords& words, const Context& context) {
  const bool completed = ended.report.outcome == supervisor::Outcome::completed;
  if (completed && question.quiet) return;
  const auto lines = report::end_lines(ended.report, words);
  if (!lines.empty() && ended.is_in_line) context.printer.say("\n");
  for (const std::string& line : lines) context.printer.note(line);
}

Status write_report(const run::SupervisedRun& ended, const CommandQuestion& question) {
  if (question.options.report.empty()) return Done{};
  return machine::write_output(
      {"--report", question.options.report},
      report::to_json_text(ended.report, {ended.no_group_peak, ended.no_gpu_memory}));
}

// Looks at the machine again where it could be looked at before.
Result<facts::Facts> look_again(const Ground& ground) {
  return probe::probe(ground.root->files, ground.tables, ground.surroundings);
}

int supervise(const CommandQuestion& question, Ground& ground, run::SupervisedCommand command,
              const Context& context) {
  const supervisor::CommandKey key{command.name, question.words, command.policy.memory,
                                   question.options.devices};
  const report::RunWords words{
      shell_line(question.words), command.policy.memory, command.command.takes_micro(),
      question.options.allocator,
      question.options.ranks.empty() ? "" : "--ranks " + question.options.ranks + " "};
  PrinterTalk talk(question, command.name, words, context);
  const run::SupervisedMachine machine{ground.root->files, ground.tables, ground.rules,
                                       ground.facts ? &*ground.facts : nullptr,
                                       [&ground] { return look_again(ground); }};
  const auto ended = run::supervise(std::move(command), machine, talk);
  if (!ended) return print_error(context, ended.error(), exit_could_not_look);
  tell_end(*ended, question, words, context);
  if (const auto written = write_report(*ended, question); !written)
    print_error(context, written.error(), exit_could_not_look);
  remember_command(ended->report, key, context);
  return ended->report.exit.code;
}

machine::InputFiles inputs_of(const CommandQuestion& question) {
  machine::InputFiles inputs{question.words, {}};
  if (!question.job.empty()) inputs.files.push_back(question.job);
  return inputs;
}

int refuse_usage(const Context& context, const Error& error) {
  Error shown = error;
  if (shown.next.empty()) shown.next = "headroom run --help";
  return print_error(context, shown, exit_usage);
}

}  // namespace

int run_command(const CommandQuestion& question, const Context& context) {
  auto policy = parse_policy(question.options);
  if (!policy) return refuse_usage(context, policy.error());
  const auto typed = parse_given(question.options);
  if (!typed) return refuse_usage(context, typed.error());
  if (const auto split = parse_split(question.options); !split)
    return refuse_usage(context, split.error());
  if (const auto guard = parse_guard(question.options); !guard)
    return refuse_usage(context, guard.error());
  const auto ranks = parse_ranks(question.options);
  if (!ranks) return refuse_usage(context, ranks.error());
  if (const auto refused =
          refuse_outputs({{"--report", question.options.report}}, inputs_of(question), context))
    return *refused;
  Ground ground;
  if (const auto read = read_ground(question, context, ground); !read)
    return print_error(context, read.error(), exit_could_not_look);
  const std::string name =
      question.options.name.empty() ? base_name(question.words.front()) : question.options.name;
  const supervisor::CommandKey key{name, question.words, policy->memory, question.options.devices};
  const auto make = [&](const supervisor::Settings& given) {
    return supervisor::CommandTemplate::make(question.words, given, ground.flags,
                                             run::read_flag_file(ground.flags, question.words));
  };
  const supervisor::Settings given = merge(*typed, question.of_job);
  auto command = make(given);
  if (!command) return refuse_usage(context, command.error());
  say_unused(question, *typed, *command, context);
  const auto learned = look_up_command(key, context);
  if (const auto start = begin_from(learned, command->initial(), given, question.quiet, context)) {
    if (auto smaller = make(*start)) command = std::move(smaller);
  }
  auto launcher = make_launcher(question, *ranks, ground, *policy);
  if (!launcher) return refuse_usage(context, launcher.error());
  auto environment = make_environment(question, *ranks, ground, context);
  if (!environment) return refuse_usage(context, environment.error());
  const auto guard = set_guard(question, ground, *environment, context);
  if (!guard) return refuse_usage(context, guard.error());
  policy->guard = *guard;
  set_totals(question, ground, *environment);
  return supervise(
      question, ground,
      {*policy, *std::move(command), name, *std::move(environment), *std::move(launcher)}, context);
}

}  // namespace headroom::cli
