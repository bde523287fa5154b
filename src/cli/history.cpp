// SPDX-License-Identifier: Apache-2.0
// headroom history: what headroom changed on this machine, and what became of it.
#include <algorithm>

#include "cli/change_session.h"
#include "cli/commands.h"
#include "machine/terminal.h"
#include "report/record_report.h"

namespace headroom::cli {
namespace {

struct HistoryOptions {
  std::string id;
  std::string root = "/";
  bool json = false;
};

bool any(const plan::Record& /*record*/) {
  return true;
}

// Who is at a change that is between old and new; nobody: it was interrupted. One change at a time
// is, so whoever changes this machine is at that one.
std::vector<report::AtWork> find_at_work(const change::Journal& journal,
                                         const plan::Record& record) {
  std::vector<report::AtWork> at_work;
  if (!plan::is_interrupted(record.state)) return at_work;
  for (const machine::LockHolder& holder : journal.holders()) {
    at_work.push_back({holder.pid, holder.command, holder.took_it});
  }
  return at_work;
}

// With nobody at it, it may just have been finished: then that is what its record says by now.
report::PastChange look_again(const change::Journal& journal, plan::Record record) {
  auto at_work = find_at_work(journal, record);
  if (!at_work.empty() || !plan::is_interrupted(record.state)) {
    return {std::move(record), std::move(at_work)};
  }
  auto now = journal.read(record.id);
  return {now ? *std::move(now) : std::move(record), {}};
}

// One change, with its steps and files.
int show_one(const HistoryOptions& options, ChangeSession& session, const Context& context) {
  auto found = session.find(options.id, any, "a change");
  if (!found) return print_change_error(context, found.error(), exit_usage);
  const report::PastChange change = look_again(*found->journal, std::move(found->record));
  if (options.json) {
    context.printer.print_json_text(report::to_json_text(change));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(
        report::to_text(change, found->journal->folder_of(change.record.id), style));
  }
  return exit_ok;
}

int run_history(const HistoryOptions& options, const Context& context) {
  const auto session = ChangeSession::open(options.root, context);
  if (!session) return print_error(context, session.error(), exit_could_not_look);
  if (!options.id.empty()) return show_one(options, **session, context);
  std::vector<report::PastChange> changes;
  int code = exit_ok;
  for (const change::Journal& journal : (*session)->journals()) {
    auto listing = journal.read_all();
    if (!listing) {
      code = print_change_error(context, listing.error(), exit_could_not_look);
      continue;
    }
    for (const Error& error : listing->unreadable)
      code = print_change_error(context, error, exit_could_not_look);
    for (plan::Record& record : listing->records) {
      changes.push_back(look_again(journal, std::move(record)));
    }
  }
  std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
    return plan::is_earlier_id(b.record.id, a.record.id);
  });
  // Nothing that could be read is not the same as nothing that was changed.
  const bool is_known = code == exit_ok || !changes.empty();
  if (options.json && is_known) {
    context.printer.print_json_text(report::history_to_json_text(changes));
  } else if (is_known) {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(report::history_to_text(changes, style));
  }
  return code;
}

}  // namespace

void add_history(CLI::App& app, Context& context) {
  auto options = std::make_shared<HistoryOptions>();
  CLI::App* command = app.add_subcommand(
      "history", "List what headroom changed on this machine, when, and with what result");
  command->add_option("CHANGE", options->id, "Show this change with its steps and files")
      ->type_name("CHANGE");
  command->add_option("--root", options->root, "Look at this folder instead; for tests")
      ->type_name("DIR");
  command->add_flag("--json", options->json, "Print JSON (headroom.history/1)");
  command->footer(
      "Exit: 0 listed, 2 no such change, 3 could not look.\n\n"
      "Examples:\n"
      "  sudo headroom history    every change, the newest first");
  command->callback([options, &context] { context.exit_code = run_history(*options, context); });
}

}  // namespace headroom::cli
