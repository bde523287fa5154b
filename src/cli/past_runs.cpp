// SPDX-License-Identifier: Apache-2.0
#include "cli/past_runs.h"

#include <fmt/format.h>

#include <utility>

#include "base/document.h"
#include "base/version.h"
#include "cli/surroundings.h"
#include "history/commands.h"
#include "history/history.h"
#include "machine/clock.h"
#include "machine/terminal.h"
#include "machine/user_files.h"
#include "report/past_runs_report.h"

namespace headroom::cli {
namespace {

Result<estimate::PastRun> read_report(const std::string& text, const estimate::Plan& plan,
                                      const estimate::Architecture& model) {
  HEADROOM_TRY(const Json report, parse_json(text));
  estimate::PastRun run = describe_run(plan, model);
  HEADROOM_CHECK(add_report(report, run));
  run.time = machine::utc_now();
  run.headroom = program_version();
  return run;
}

Status store(const estimate::PastRun& run, const Context& context) {
  const std::string path = history_path(context);
  if (path.empty())
    return Error{Errc::not_found,
                 "expected a folder for the history, found neither HOME nor XDG_STATE_HOME set",
                 ""};
  HEADROOM_TRY(const auto moved, history::add_run(path, run));
  if (moved)
    context.printer.note(fmt::format("the history was damaged, and has been moved to {}", *moved));
  return Done{};
}

}  // namespace

std::string history_path(const Context& context) {
  const std::string folder = state_folder(context);
  return folder.empty() ? "" : folder + "/history.db";
}

estimate::PastErrors look_up_past(const estimate::Plan& plan, const estimate::Architecture& model,
                                  const Context& context) {
  const std::string path = history_path(context);
  if (path.empty()) return {};
  auto found = history::read_runs(path);
  if (!found) {
    const bool damaged = found.error().code == Errc::invalid;
    context.printer.note(fmt::format("past runs are not shown: {}{}", found.error().message,
                                     damaged ? "; the next recorded run begins a new file" : ""));
    return {};
  }
  const estimate::PastRun planned = describe_run(plan, model);
  return find_past_errors(find_such_runs(std::move(found->runs), planned), planned);
}

int list_past_runs(bool json, const Context& context) {
  const std::string path = history_path(context);
  auto found = path.empty() ? Result<history::Runs>(history::Runs{}) : history::read_runs(path);
  if (!found) return print_error(context, found.error(), exit_could_not_look);
  const auto commands =
      path.empty() ? Result<history::Commands>(history::Commands{}) : history::read_commands(path);
  if (!commands) return print_error(context, commands.error(), exit_could_not_look);
  const std::size_t unreadable = found->unreadable + commands->unreadable;
  if (json) {
    Json document = report::past_runs_to_json(found->runs, unreadable);
    document["commands"] = report::past_commands_to_json(commands->attempts);
    context.printer.print_json(document);
    return exit_ok;
  }
  const std::size_t width = machine::stdout_width();
  const bool commands_alone = found->runs.empty() && !commands->attempts.empty();
  if (!commands_alone || unreadable > 0)
    context.printer.print(report::past_runs_to_text(found->runs, unreadable, width));
  context.printer.print(report::past_commands_to_text(commands->attempts, width));
  return exit_ok;
}

int record_past_run(const std::string& report_path, const estimate::Plan& plan,
                    const estimate::Architecture& model, const Context& context) {
  const auto text = machine::read_file(report_path);
  if (!text) {
    Error error = text.error();
    error.next =
        R"(give the path of a report: {"measured": {"allocated_bytes": N}}, see docs/seeing.md)";
    return print_error(context, error, exit_usage);
  }
  auto run = read_report(*text, plan, model);
  if (!run) return print_error(context, std::move(run).error().in(report_path), exit_usage);
  const Status stored = store(*run, context);
  if (!stored) return print_error(context, stored.error(), exit_could_not_look);
  context.printer.note("recorded; headroom plan --history shows it");
  return exit_ok;
}

void remember_run(const estimate::Plan& plan, const run::LoadedJob& loaded,
                  const std::string& report, const Context& context) {
  if (report.empty()) return;  // It did not begin.
  const auto run = read_report(report, plan, loaded.model);
  if (!run) return;  // It ended before there was a peak.
  const Status stored = store(*run, context);
  if (!stored) context.printer.note("the run is not in the history: " + stored.error().message);
}

}  // namespace headroom::cli
