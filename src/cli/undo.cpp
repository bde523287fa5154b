// SPDX-License-Identifier: Apache-2.0
// headroom undo: takes a change back, byte for byte.
#include "change/change_machine.h"
#include "cli/change_session.h"
#include "cli/commands.h"
#include "machine/interrupt.h"
#include "machine/terminal.h"
#include "report/record_report.h"

namespace headroom::cli {
namespace {

struct UndoOptions {
  std::string id;
  std::string root = "/";
  bool json = false;
};

bool can_be_undone(const plan::Record& record) {
  return record.state != plan::State::undone;
}

int run_undo(const UndoOptions& options, const Context& context) {
  context.printer.finish_first();
  const auto session = ChangeSession::open(options.root, context);
  if (!session) return print_error(context, session.error(), exit_could_not_look);
  const auto found = (*session)->find(options.id, can_be_undone, "a change that is in force");
  if (!found) return print_change_error(context, found.error(), exit_usage);
  const machine::Interrupt held;  // ^C does not leave it half done.
  const auto undone =
      change::undo((*session)->doors_for(found->record), *found->journal, found->record.id);
  if (!undone) return print_change_error(context, undone.error(), exit_findings);
  if (options.json) {
    context.printer.print_json_text(report::to_json_text(undone->record, undone->notes));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(
        report::to_text({undone->record, undone->restored, undone->notes}, style));
  }
  return exit_ok;
}

}  // namespace

void add_undo(CLI::App& app, Context& context) {
  auto options = std::make_shared<UndoOptions>();
  CLI::App* command = app.add_subcommand(
      "undo", "Undo a change, byte for byte, unless somebody edited its files since");
  command
      ->add_option("CHANGE", options->id,
                   "The change, as headroom history lists it (default: the last one in force)")
      ->type_name("CHANGE");
  command->add_option("--root", options->root, "Act on this folder instead; for tests")
      ->type_name("DIR");
  command->add_flag("--json", options->json, "Print JSON (headroom.change/1)");
  command->footer(
      "Exit: 0 undone, 1 refused or not finished (nothing is lost, and the message says how to "
      "continue), 2 no such change, 3 could not look.\n\n"
      "Examples:\n"
      "  sudo headroom undo    undo the last change");
  command->callback([options, &context] { context.exit_code = run_undo(*options, context); });
}

}  // namespace headroom::cli
