// SPDX-License-Identifier: Apache-2.0
// headroom confirm: after the reboot, whether it brought what was predicted. The unit that apply
// installs calls it with --at-boot; a person may call it at any time.
#include <fmt/format.h>

#include "change/change_machine.h"
#include "cli/change_session.h"
#include "cli/commands.h"
#include "cli/inspected_machine.h"
#include "machine/interrupt.h"
#include "machine/terminal.h"
#include "plan/boot/booted_with.h"
#include "plan/forecast.h"
#include "report/confirm_report.h"

namespace headroom::cli {
namespace {

struct ConfirmOptions {
  std::string root = "/";
  bool at_boot = false;
  bool rollback = false;
  bool json = false;
};

bool awaits_confirm(const plan::Record& record) {
  return plan::can_be_confirmed(record.state);
}

// The machine booted since the change was applied; where either boot is unknown it may have.
bool is_rebooted(const plan::Record& record, const facts::BootSetup& boot) {
  return record.boot_id.empty() || !boot.boot_id || *boot.boot_id != record.boot_id;
}

Error not_rebooted(const plan::Record& record) {
  return {Errc::invalid,
          fmt::format("expected a reboot since {} was applied at {}; there was none, so nothing "
                      "can be in force yet",
                      record.id, record.made),
          fmt::format("sudo reboot   (then {})", plan::confirm_command(record))};
}

bool is_tried(const plan::Change& change) {
  return change.fallback == plan::BootFallback::next_boot ||
         change.fallback == plan::BootFallback::counted_boots;
}

// What this boot brought. That it is the boot which the change was for comes first; where it is
// not, and the change was tried for one boot, the machine fell back.
report::Confirmation look_at_boot(const plan::Change& change, const InspectedMachine& machine) {
  report::Confirmation answer;
  plan::Comparison& comparison = answer.comparison;
  comparison.outcome = plan::Outcome::as_predicted;  // Of a change that predicts nothing.
  if (change.forecast) comparison = plan::compare(*change.forecast, machine.facts);
  const auto command_line = machine.root.files.read("/proc/cmdline");
  if (!command_line) {
    comparison.outcome = plan::Outcome::not_known;
    comparison.unread.push_back(command_line.error().message);
    return answer;
  }
  const auto old_words = plan::find_old_words(change, *command_line);
  if (old_words.empty()) return answer;
  comparison.outcome = plan::Outcome::differs;
  comparison.reasons.insert(comparison.reasons.begin(), old_words.begin(), old_words.end());
  answer.fell_back = is_tried(change);
  return answer;
}

// What becomes of the change, done: confirmed, taken back, or left as it is with the reason said.
Result<report::Confirmation> finish(const ConfirmOptions& options, ChangeSession& session,
                                    const ChangeSession::Found& found,
                                    const InspectedMachine& machine) {
  report::Confirmation answer = look_at_boot(found.record.change, machine);
  const std::string said = report::summary(answer.comparison);
  const std::string& id = found.record.id;
  if (answer.comparison.outcome == plan::Outcome::as_predicted) {
    HEADROOM_TRY(answer.record, change::confirm(session.doors(), *found.journal, id, said));
    return answer;
  }
  const bool differs = answer.comparison.outcome == plan::Outcome::differs;
  if (answer.fell_back || (differs && options.rollback)) {
    HEADROOM_TRY(auto undone,
                 change::undo(session.doors_for(found.record), *found.journal, id, said));
    answer.record = std::move(undone.record);
    answer.notes = std::move(undone.notes);
    return answer;
  }
  HEADROOM_TRY(answer.record, change::mark_mismatched(session.doors(), *found.journal, id, said));
  return answer;
}

bool is_interrupted(const plan::Record& record) {
  return plan::is_interrupted(record.state);
}

bool is_confirmed(const plan::Record& record) {
  return record.state == plan::State::confirmed;
}

// Nothing awaits its reboot, and this change was interrupted on its way there.
Error interrupted(const ChangeSession::Found& found) {
  const std::string& id = found.record.id;
  const std::string_view doing = found.record.state == plan::State::undoing ? "undone" : "applied";
  if (const auto holders = found.journal->holders(); !holders.empty()) {
    return {Errc::busy,
            fmt::format("expected a change that waits to be confirmed after its reboot; {} is "
                        "being {} right now by {}",
                        id, doing, machine::describe(holders)),
            "headroom history   (once that has ended)"};
  }
  return {Errc::not_found,
          fmt::format("expected a change that waits to be confirmed after its reboot; {} was "
                      "interrupted while it was {}, so there is nothing to confirm yet",
                      id, doing),
          fmt::format("{}   (undoes it; then it can be applied again)",
                      plan::undo_command(found.record))};
}

void print_answer(const ConfirmOptions& options, const Context& context,
                  const report::Confirmation& answer) {
  if (options.json) {
    context.printer.print_json_text(report::to_json_text(answer));
    return;
  }
  const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
  context.printer.print(report::to_text(answer, style));
}

// The unit was faster than the person who types this: what it confirmed, and whether it holds
// still.
int look_again(const ConfirmOptions& options, const Context& context, const plan::Record& record) {
  const auto machine = inspect_machine(options.root, "", context);
  if (!machine) return print_error(context, machine.error(), exit_could_not_look);
  report::Confirmation answer = look_at_boot(record.change, **machine);
  answer.record = record;
  answer.fell_back = false;
  answer.confirmed_before = true;
  print_answer(options, context, answer);
  return answer.comparison.outcome == plan::Outcome::differs ? exit_findings : exit_ok;
}

// `error`: that nothing awaits its reboot, or that the journal cannot be read.
int answer_without_one(const ConfirmOptions& options, const Context& context,
                       ChangeSession& session, const Error& error) {
  // The unit may outlive a change that was taken back by hand; that is no failure of the boot.
  const ExitCode code = options.at_boot ? exit_ok : exit_usage;
  if (const auto found = session.find("", is_interrupted, "a change that was interrupted"))
    return print_change_error(context, interrupted(*found), code);
  if (!options.at_boot) {
    if (const auto found = session.find("", is_confirmed, "a confirmed change"))
      return look_again(options, context, found->record);
  }
  return print_change_error(context, error, code);
}

int run_confirm(const ConfirmOptions& options, const Context& context) {
  context.printer.finish_first();
  const auto session = ChangeSession::open(options.root, context);
  if (!session) return print_error(context, session.error(), exit_could_not_look);
  const auto found =
      (*session)->find("", awaits_confirm, "a change that waits to be confirmed after its reboot");
  if (!found) return answer_without_one(options, context, **session, found.error());
  const auto machine = inspect_machine(options.root, "", context);
  if (!machine) return print_error(context, machine.error(), exit_could_not_look);
  if (!is_rebooted(found->record, (*machine)->boot)) {
    return print_error(context, not_rebooted(found->record), exit_findings);
  }
  const machine::Interrupt held;  // ^C does not leave it half done.
  const auto answer = finish(options, **session, *found, **machine);
  if (!answer) return print_change_error(context, answer.error(), exit_findings);
  print_answer(options, context, *answer);
  if (answer->record.state == plan::State::confirmed) return exit_ok;
  // The unit did what it is for, and is gone: it must not stay behind in systemd as failed.
  const bool taken_back = options.at_boot && answer->record.state == plan::State::undone;
  return taken_back ? exit_ok : exit_findings;
}

}  // namespace

void add_confirm(CLI::App& app, Context& context) {
  auto options = std::make_shared<ConfirmOptions>();
  CLI::App* command = app.add_subcommand(
      "confirm", "After a reboot, check that the change had the predicted effect");
  command->add_option("--root", options->root, "Act on this folder instead; for tests")
      ->type_name("DIR");
  command->add_flag("--at-boot", options->at_boot, "For the unit that a change installs")
      ->group("");
  command->add_flag("--rollback-on-mismatch", options->rollback,
                    "Undo the change if the result is not as predicted");
  command->add_flag("--json", options->json, "Print JSON (headroom.confirm/1)");
  command->footer(
      "After headroom fix --apply, a unit runs this by itself at the next boot.\n\n"
      "Exit: 0 confirmed, 1 not rebooted yet, or not as predicted, 2 nothing to confirm, 3 could "
      "not look.\n\n"
      "Examples:\n"
      "  sudo headroom confirm    after the reboot that headroom fix asked for");
  command->callback([options, &context] { context.exit_code = run_confirm(*options, context); });
}

}  // namespace headroom::cli
