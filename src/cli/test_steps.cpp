// SPDX-License-Identifier: Apache-2.0
#include "cli/test_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "cli/injected_files.h"
#include "cli/proof_ground.h"
#include "machine/terminal.h"
#include "proof/step_kinds.h"
#include "report/proof_report.h"
#include "report/together_report.h"
#include "run/command/environment.h"
#include "run/proof/prove.h"
#include "run/proof/prove_together.h"

namespace headroom::cli {
namespace {

constexpr unsigned training_steps = 50;

// Fails with invalid where it is what was typed that is wrong.
Status check_python(const StepsQuestion& question, const facts::PythonStack& python) {
  if (!python.interpreter) {
    if (!question.python.empty())
      return no_python(question.python, "headroom test --python /path/to/venv");
    return Error{Errc::not_found, "expected a Python to test with, found none",
                 "headroom test --python /path/to/venv"};
  }
  return Done{};
}

// The names as typed, in any order.
Result<std::vector<std::string>> parse_steps(const StepsQuestion& question) {
  std::vector<std::string> steps, known;
  if (question.steps.empty()) return steps;
  const auto kinds = question.together ? proof::together_kinds() : proof::step_kinds();
  for (const proof::StepKind& kind : kinds) {
    if (kind.name != proof::no_peers_step) known.emplace_back(kind.name);
  }
  if (question.soak.count() > 0) known.emplace_back(proof::soak_step);
  for (const std::string_view one : split(question.steps, ',')) {
    if (std::find(known.begin(), known.end(), trim(one)) == known.end()) {
      return Error{Errc::invalid,
                   fmt::format("--steps: expected some of {}, found {}", join(known, ", "), one),
                   question.together ? "headroom test --multi --steps peer-copy"
                                     : "headroom test --steps memory,rate"};
    }
    steps.emplace_back(trim(one));
  }
  return steps;
}

// One line of a terminal says what is done; the report comes at the end.
void show_progress(const Context& context, run::StepHost& host) {
  if (!machine::stderr_is_terminal()) return;
  host.on_step = [&context](const std::string& device, const std::string& step) {
    context.printer.rewrite_line(
        fmt::format("{} {} …", device.empty() ? "looking:" : "testing " + device + ":", step));
  };
}

template <class Report>
Result<int> print_answer(const Result<Report>& report, const StepsQuestion& question,
                         const Context& context) {
  if (machine::stderr_is_terminal()) context.printer.rewrite_line("");  // What show_progress wrote.
  if (!report) return report.error();
  if (question.json) {
    context.printer.print_json_text(report::to_json_text(*report));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(report::to_text(*report, style));
  }
  return has_failure(*report) ? exit_findings : exit_ok;
}

}  // namespace

int test_steps(const StepsQuestion& question, const Context& context) {
  const auto refuse = [&context](Error error, ExitCode code) {
    if (error.next.empty()) error.next = "headroom test --help";
    return print_error(context, error, code);
  };
  const auto steps = parse_steps(question);
  if (!steps) return refuse(steps.error(), exit_usage);
  ProofGround ground;
  Status read = read_ground(question.python, question.root, context, ground);
  if (read) read = check_python(question, ground.facts.python);
  if (!read) {
    const bool is_typed = read.error().code == Errc::invalid;
    return refuse(read.error(), is_typed ? exit_usage : exit_could_not_look);
  }
  const auto program = find_steps_program();
  if (!program) return refuse(program.error(), exit_could_not_look);
  run::StepHost host{.python = *ground.facts.python.interpreter,
                     .command = {*ground.facts.python.interpreter, "-B", *program},
                     .environment = run::to_variables(context.environment),
                     .steps = *steps,
                     .training_steps = question.is_full ? 10 * training_steps : training_steps,
                     .soak = question.soak,
                     .limit = {},
                     .facts = ground.facts,
                     .diagnosis = ground.diagnosis,
                     .tables = ground.tables,
                     .rules = ground.rules,
                     .kernel = ground.kernel ? &*ground.kernel : nullptr,
                     .files = ground.files,
                     .on_step = {}};
  if (question.timeout_s) host.limit = std::chrono::seconds(*question.timeout_s);
  show_progress(context, host);
  const auto answered = question.together
                            ? print_answer(run::prove_together(host), question, context)
                            : print_answer(run::prove(host), question, context);
  return answered ? *answered : refuse(answered.error(), exit_could_not_look);
}

}  // namespace headroom::cli
