// SPDX-License-Identifier: Apache-2.0
// headroom history: what headroom changed on this machine, and what became of it.
#include <fmt/format.h>

#include <algorithm>

#include "cli/change_doors.h"
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

// One change, with its steps and files.
int show_one(const HistoryOptions& options, ChangeDoors& doors, const Context& context) {
  const auto found = doors.find(options.id, any, "a change");
  if (!found) return print_change_error(found.error(), exit_usage, context);
  if (options.json) {
    fmt::print("{}", report::to_json_text(found->record, {}));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    fmt::print("{}",
               report::to_text(found->record, found->journal->folder_of(found->record.id), style));
  }
  return exit_ok;
}

int run_history(const HistoryOptions& options, const Context& context) {
  const auto doors = ChangeDoors::open(options.root, context);
  if (!doors) return print_error(doors.error(), exit_could_not_look);
  if (!options.id.empty()) return show_one(options, **doors, context);
  std::vector<plan::Record> records;
  int code = exit_ok;
  for (const change::Journal& journal : (*doors)->journals()) {
    auto listing = journal.read_all();
    if (!listing) {
      code = print_change_error(listing.error(), exit_could_not_look, context);
      continue;
    }
    for (const Error& error : listing->unreadable) {
      code = print_change_error(error, exit_could_not_look, context);
    }
    std::move(listing->records.begin(), listing->records.end(), std::back_inserter(records));
  }
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return a.id > b.id; });
  // Nothing that could be read is not the same as nothing that was changed.
  const bool is_known = code == exit_ok || !records.empty();
  if (options.json && is_known) {
    fmt::print("{}", report::history_to_json_text(records));
  } else if (is_known) {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    fmt::print("{}", report::history_to_text(records, style));
  }
  return code;
}

}  // namespace

void add_history(CLI::App& app, Context& context) {
  auto options = std::make_shared<HistoryOptions>();
  CLI::App* command = app.add_subcommand(
      "history", "What headroom changed on this machine, when, and what became of it");
  command->add_option("id", options->id, "One change, with its steps and files");
  command->add_option("--root", options->root, "A scratch root, for tests");
  command->add_flag("--json", options->json, "For programs: schema headroom.history/1");
  command->callback([options, &context] { context.exit_code = run_history(*options, context); });
}

}  // namespace headroom::cli
