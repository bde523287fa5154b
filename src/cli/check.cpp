// SPDX-License-Identifier: Apache-2.0
// headroom check: looks at a machine and says what its GPUs can use, what is in the way, and what
// to do.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>

#include "cli/commands.h"
#include "findings/diagnosis.h"
#include "knowledge/gpu_tables.h"
#include "machine/files.h"
#include "machine/terminal.h"
#include "machine/user_files.h"
#include "probe/probe.h"
#include "report/check_json.h"
#include "report/check_text.h"
#include "report/environment_text.h"
#include "report/what_if_report.h"

namespace headroom::cli {
namespace {

struct CheckOptions {
  std::string root = "/";
  std::string env;  // A snippet to audit; empty: none.
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  std::vector<std::string> what_if;
};

// The answer to --if, printed; the exit code is that of the machine as it would be.
int answer_what_if(const CheckOptions& options, const facts::Facts& now,
                   const findings::Diagnosis& diagnosis, const knowledge::GpuTables& tables) {
  auto change = facts::parse_what_if(options.what_if);
  if (!change) return print_error(change.error(), exit_usage);
  report::WhatIfAnswer answer{*std::move(change), {}, {}};
  answer.prediction = facts::predict(now, answer.change);
  answer.diagnosis = findings::diagnose({answer.prediction.facts, tables});
  if (options.json) {
    auto document = report::to_json(now, diagnosis);
    document["what_if"] = report::to_json(answer);
    fmt::print("{}", report::to_text(document));
  } else {
    const report::Style style{machine::stdout_shows_colour()};
    fmt::print("{}", report::to_text(now, answer, style));
  }
  return findings::exit_code(answer.diagnosis);
}

// Words of the kernel command line that the table knows beside modules' parameters.
std::vector<std::string> boot_words(const knowledge::KnobTable& knobs) {
  std::vector<std::string> words;
  for (const knowledge::Knob& knob : knobs.rows()) {
    if (knob.is_parameter() && knob.name.find('.') == std::string::npos) words.push_back(knob.name);
  }
  return words;
}

Result<std::vector<facts::Setting>> read_snippet(const std::string& name,
                                                 const knowledge::KnobTable& knobs) {
  Result<std::string> text =
      name == "-" ? Result<std::string>(std::string(std::istreambuf_iterator<char>(std::cin), {}))
                  : machine::read_file(name, std::size_t{1} << 20U);
  if (!text) {
    Error error = std::move(text).error();
    error.next = "headroom check --env FILE, or - for standard input";
    return error;
  }
  const facts::Text snippet(*std::move(text), facts::Source{name, 0, ""});
  return facts::parse_snippet(snippet, facts::Scope::given, boot_words(knobs));
}

// Something in the snippet should change.
bool has_advice(const std::vector<findings::Judgement>& judged) {
  return std::any_of(judged.begin(), judged.end(), [](const findings::Judgement& one) {
    return one.ours && one.verdict != findings::KnobVerdict::keep;
  });
}

// The answer to --env, printed; the exit code is the snippet's, not the machine's.
int answer_env(const CheckOptions& options, const facts::Facts& facts,
               findings::Diagnosis diagnosis, const knowledge::GpuTables& tables) {
  const auto snippet = read_snippet(options.env, tables.knobs);
  if (!snippet) return print_error(snippet.error(), exit_usage);
  const auto judged = findings::audit_knobs(*snippet, facts, tables);
  if (options.json) {
    diagnosis.environment.insert(diagnosis.environment.end(), judged.begin(), judged.end());
    fmt::print("{}", report::to_json_text(facts, diagnosis));
  } else {
    const report::Style style{machine::stdout_shows_colour()};
    fmt::print("{}", report::environment_text(options.env, facts, judged, style));
  }
  return has_advice(judged) ? exit_findings : exit_ok;
}

int run_check(const CheckOptions& options, const std::string& own_environment) {
  const auto could_not_look = [&options](Error error) {
    if (options.root != "/") error = std::move(error).in("checking " + options.root);
    if (error.next.empty()) error.next = "headroom check --help";
    return print_error(error, exit_could_not_look);
  };
  const auto tables = knowledge::load_gpu_tables();
  if (!tables) return could_not_look(tables.error());
  const auto files = machine::Files::open(options.root);
  if (!files) return could_not_look(files.error());
  const auto facts = probe::probe(*files, *tables, own_environment);
  if (!facts) return could_not_look(facts.error());
  auto diagnosis = findings::diagnose({*facts, *tables});
  if (!options.what_if.empty()) return answer_what_if(options, *facts, diagnosis, *tables);
  if (!options.env.empty()) return answer_env(options, *facts, std::move(diagnosis), *tables);
  if (options.json) {
    fmt::print("{}", report::to_json_text(*facts, diagnosis));
  } else {
    const report::Style style{machine::stdout_shows_colour()};
    report::Detail detail = report::Detail::normal;
    if (options.quiet) detail = report::Detail::quiet;
    if (options.verbose) detail = report::Detail::verbose;
    fmt::print("{}", report::to_text(*facts, diagnosis, detail, style));
  }
  return findings::exit_code(diagnosis);
}

}  // namespace

void add_check(CLI::App& app, Context& context) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand(
      "check", "Look at this machine: what its GPUs can use, what is in the way, and what to do");
  command->add_option("--root", options->root,
                      "A captured machine: a folder that mirrors its /sys, /proc, /etc and /dev");
  auto* what_if =
      command
          ->add_option("--if", options->what_if,
                       "What a reboot would bring: ttm.pages_limit=96GiB, gttsize=default, "
                       "carveout=512MiB, kernel=6.16.9, ram=SIZE, no_system_mem_limit=1, reboot")
          ->type_name("SETTING")
          ->allow_extra_args(false);
  auto* env = command->add_option(
      "--env", options->env,
      "Explain the settings in FILE (- for stdin): shell, .env, compose, unit, modprobe.d, …");
  env->excludes(what_if);
  auto* json = command->add_flag("--json", options->json, "For programs: schema headroom.check/1");
  auto* quiet = command->add_flag("--quiet,-q", options->quiet, "The verdict line alone");
  command->add_flag("--verbose,-v", options->verbose, "Every fact with its source")
      ->excludes(json)
      ->excludes(quiet)
      ->excludes(env);
  command->footer(
      "Exit: 0 nothing wrong, 1 something found, 2 wrong usage, 3 could not look.\n"
      "Reads only; wakes no sleeping GPU; needs no root (with root it sees every process).");
  command->callback(
      [options, &context] { context.exit_code = run_check(*options, context.environment); });
}

}  // namespace headroom::cli
