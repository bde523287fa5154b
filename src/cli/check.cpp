// SPDX-License-Identifier: Apache-2.0
// headroom check: looks at a machine and says what its GPUs can use, what is in the way, and what
// to do.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/document.h"
#include "cli/check_env.h"
#include "cli/check_health.h"
#include "cli/check_log.h"
#include "cli/commands.h"
#include "cli/machine_changes.h"
#include "cli/surroundings.h"
#include "deploy/service_judgement.h"
#include "findings/diagnosis.h"
#include "knowledge/gpu_tables.h"
#include "machine/open_root.h"
#include "machine/terminal.h"
#include "probe/probe.h"
#include "probe/read_quadlets.h"
#include "report/changes_report.h"
#include "report/check_json.h"
#include "report/check_text.h"
#include "report/service_text.h"
#include "report/what_if_report.h"

namespace headroom::cli {
namespace {

struct CheckOptions {
  std::string root = "/";
  std::string python;
  std::string env;  // A snippet to audit; empty: none.
  std::vector<std::string> logs;
  std::string watch;  // A unit or a container; empty: none.
  std::string stated;
  bool here = false;  // The logs are this machine's.
  std::string job;
  std::string report;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  bool health = false;
  std::vector<std::string> what_if;
};

// The answer to --if, printed; the exit code is that of the machine as it would be.
int answer_what_if(const CheckOptions& options, const facts::Facts& now,
                   const findings::Diagnosis& diagnosis, const knowledge::GpuTables& tables,
                   const Context& context) {
  auto change = facts::parse_what_if(options.what_if, &tables.knobs);
  if (!change) return print_error(context, change.error(), exit_usage);
  report::WhatIfAnswer answer{*std::move(change), {}, {}, options.root};
  answer.prediction = facts::predict(now, answer.change);
  answer.diagnosis = findings::diagnose({answer.prediction.facts, tables});
  if (options.json) {
    auto document = report::to_json(now, diagnosis);
    document["what_if"] = report::to_json(answer);
    context.printer.print_json_text(report::to_text(document));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(options.quiet ? report::verdict_text(now, answer, style)
                                        : report::to_text(now, answer, style));
  }
  return findings::exit_code(answer.diagnosis);
}

// Exit 2 if --python named something else.
std::optional<Error> wrong_python(const CheckOptions& options, const facts::PythonStack& python) {
  const bool found = python.interpreter || !python.folders.empty();
  if (options.python.empty() || found) return std::nullopt;
  return Error{Errc::invalid,
               "--python " + options.python +
                   ": expected an interpreter, a virtual environment or a folder of packages; "
                   "found none",
               "headroom check --python /path/to/venv"};
}

// What goes with a log alone.
std::optional<Error> lacks_log(const CheckOptions& options) {
  const bool has_log = !options.logs.empty() || !options.watch.empty();
  const char* needs = !options.stated.empty()   ? "--stated"
                      : !options.job.empty()    ? "--job"
                      : !options.report.empty() ? "--report"
                      : options.here            ? "--here"
                                                : nullptr;
  if (has_log || needs == nullptr) return std::nullopt;
  return Error{Errc::invalid, fmt::format("{} expects --log or --watch, found neither", needs),
               "headroom check --help"};
}

// What quadlets describe; one that cannot be read as such is left to podman's own message.
std::vector<deploy::DescribedService> described_services(const machine::Files& files) {
  std::vector<deploy::DescribedService> services;
  for (const facts::ConfigFile& file : probe::read_quadlets(files)) {
    auto found = deploy::read_service_file(file.path, file.text);
    if (found) std::move(found->begin(), found->end(), std::back_inserter(services));
  }
  return services;
}

// What stands beside the diagnosis of a machine.
struct Beside {
  std::vector<deploy::ServiceJudgement> services;
  findings::RecentChanges changes;
};

void print_answer(const CheckOptions& options, const facts::Facts& facts,
                  const findings::Diagnosis& diagnosis, const Beside& beside,
                  const Context& context) {
  if (options.json) {
    auto document = report::to_json(facts, diagnosis);
    if (!beside.services.empty()) document["services"] = report::services_json(beside.services);
    if (beside.changes.looked()) document["changes"] = report::changes_json(beside.changes);
    context.printer.print_json_text(report::to_text(document));
    return;
  }
  const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
  report::Detail detail = report::Detail::normal;
  if (options.quiet) detail = report::Detail::quiet;
  if (options.verbose) detail = report::Detail::verbose;
  context.printer.print(report::to_text(
      facts, diagnosis, detail, style,
      {report::misfits_text(beside.services, style) + report::changes_text(beside.changes, style),
       options.root}));
}

int run_check(const CheckOptions& options, const Context& context) {
  if (options.health) return answer_health(options.root, options.python, context);
  const auto could_not_look = [&options, &context](Error error) {
    if (options.root != "/") error = std::move(error).in("checking " + options.root);
    if (error.next.empty()) error.next = "headroom check --help";
    return print_error(context, error, exit_could_not_look);
  };
  if (const auto error = lacks_log(options)) return print_error(context, *error, exit_usage);
  const auto tables = knowledge::load_gpu_tables();
  if (!tables) return could_not_look(tables.error());
  const LogQuestion log{.files = options.logs,
                        .watch = options.watch,
                        .stated = options.stated,
                        .job = options.job,
                        .report = options.report,
                        .root = options.root,
                        .json = options.json,
                        .quiet = options.quiet};
  // What is watched runs on this machine.
  const bool asks_log = !options.logs.empty() || !options.watch.empty();
  const bool look =
      options.logs.empty() || !options.watch.empty() || options.here || options.root != "/";
  if (!look) return answer_log(log, nullptr, *tables, context);
  const auto root = machine::open_root(options.root);
  if (!root) return could_not_look(root.error());
  const auto facts = probe::probe(
      root->files, *tables, make_surroundings(context, options.python, root->files.is_real()));
  if (!facts) return could_not_look(facts.error());
  if (const auto error = wrong_python(options, facts->python)) {
    return print_error(context, *error, exit_usage);
  }
  const auto diagnosis = findings::diagnose({*facts, *tables});
  const auto packages = knowledge::load_package_table();
  if (!packages) return could_not_look(packages.error());
  if (asks_log) {
    const auto history = read_history(root->files, *packages, *facts);
    const LookedAt machine{*facts, diagnosis, history, *packages};
    return answer_log(log, &machine, *tables, context);
  }
  if (!options.what_if.empty()) return answer_what_if(options, *facts, diagnosis, *tables, context);
  if (!options.env.empty()) {
    return answer_env({options.env, options.root, options.json, options.quiet}, *facts, diagnosis,
                      *tables, context);
  }
  const Beside beside{
      deploy::judge_services(described_services(root->files), *facts, diagnosis, *tables),
      findings::find_recent_changes(read_history(root->files, *packages, *facts), *packages)};
  print_answer(options, *facts, diagnosis, beside, context);
  return findings::exit_code(diagnosis);
}

// `others` ask for another answer.
void add_health(CLI::App& command, CheckOptions& options, const std::vector<CLI::Option*>& others) {
  auto* health = command.add_flag(
      "--health", options.health,
      "One line and an exit code for monitors: 0 jobs can run, 1 they cannot, 2 not known");
  for (CLI::Option* other : others) health->excludes(other);
}

}  // namespace

void add_check(CLI::App& app, Context& context) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand(
      "check", "Show what this machine's GPUs can use, what is wrong, and what to do about it");
  command
      ->add_option("--root", options->root,
                   "Look at a captured machine instead: a file or folder that headroom capture "
                   "wrote, or any "
                   "folder that mirrors a machine's /sys, /proc, /etc and /dev")
      ->type_name("PATH");
  auto* what_if =
      command
          ->add_option("--if", options->what_if,
                       "Show what a reboot with this setting would change; may be repeated: "
                       "ttm.pages_limit=96GiB, gttsize=default, carveout=512MiB, kernel=6.16.9, "
                       "ram=SIZE, no_system_mem_limit=1, reboot")
          ->type_name("SETTING")
          ->allow_extra_args(false);
  command
      ->add_option("--python", options->python,
                   "The Python that jobs use: an interpreter, a virtual environment, or a folder "
                   "of packages (default: the first on PATH). headroom reads it and never runs it")
      ->type_name("PATH");
  auto* env = command->add_option(
      "--env", options->env,
      "Explain the settings in this file (- for standard input): shell, .env, compose, unit, "
      "modprobe.d, ...");
  env->type_name("FILE")->excludes(what_if);
  auto* log = command->add_option(
      "--log", options->logs,
      "Find the root cause of a failure in this log (- for standard input); may be repeated");
  log->type_name("FILE")->allow_extra_args(false)->excludes(env)->excludes(what_if);
  command
      ->add_option("--watch", options->watch,
                   "Follow the journal of a systemd unit or the log of a container, until a cause "
                   "is clear or you press ^C; unit:NAME and container:NAME say which is meant")
      ->type_name("NAME")
      ->excludes(env)
      ->excludes(what_if);
  command
      ->add_option(
          "--stated", options->stated,
          "Facts about the machine that wrote the log, as JSON: gpu, gfx, vram, ram, rocm, "
          "kernel, ...")
      ->type_name("FILE");
  command
      ->add_option("--job", options->job,
                   "The job that wrote the log. headroom then names the tensor that failed")
      ->type_name("JOB.toml");
  command->add_option("--report", options->report, "Write a post-mortem in Markdown")
      ->type_name("FILE.md");
  command->add_flag("--here", options->here, "The logs are from this machine: look at it as well");
  auto* json = command->add_flag("--json", options->json, "Print JSON (headroom.check/1)");
  auto* quiet = command->add_flag("--quiet,-q", options->quiet, "Print the verdict only");
  command->add_flag("--verbose,-v", options->verbose, "Print every fact with its source")
      ->excludes(json)
      ->excludes(quiet)
      ->excludes(env);
  add_health(*command, *options, {what_if, env, log, json, quiet});
  command->footer(
      "It only reads, and does not wake a sleeping GPU. It does not need root. As root it sees the "
      "processes of all users.\n\n"
      "Exit: 0 nothing wrong, 1 something found, 2 wrong usage, 3 could not look.\n\n"
      "Examples:\n"
      "  headroom check                              look at this machine\n"
      "  headroom check --log train.log --here       why a job on this machine failed\n"
      "  headroom check --if ttm.pages_limit=96GiB   what a reboot with this setting would change\n"
      "  headroom check --env docker-compose.yml     which settings of a service to keep");
  command->callback([options, &context] { context.exit_code = run_check(*options, context); });
}

}  // namespace headroom::cli
