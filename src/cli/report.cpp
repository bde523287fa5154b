// SPDX-License-Identifier: Apache-2.0
// headroom report: what check said on many machines, as one table.
#include <algorithm>
#include <memory>
#include <optional>

#include "base/document.h"
#include "cli/commands.h"
#include "machine/terminal.h"
#include "machine/user_files.h"
#include "report/check_json.h"
#include "report/fleet_report.h"

namespace headroom::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> places;
  bool json = false;
};

constexpr std::string_view ending = ".json";

std::string name_of(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name;
}

// The files that were meant: of a folder those that end in .json.
Result<std::vector<std::string>> find_files(const std::vector<std::string>& places) {
  std::vector<std::string> files;
  for (const std::string& place : places) {
    HEADROOM_TRY(const EntryKind kind, machine::kind_of(place));
    if (kind != EntryKind::folder) {
      files.push_back(place);
      continue;
    }
    HEADROOM_TRY(const auto names, machine::list_folder(place));
    for (const std::string& name : names) {
      if (name.ends_with(ending)) files.push_back(place + "/" + name);
    }
  }
  if (files.empty()) {
    return Error{Errc::not_found, "expected files that end in .json, found none",
                 "on each machine: headroom check --json > NAME.json"};
  }
  return files;
}

Result<report::FleetMachine> read_one(const std::string& file) {
  HEADROOM_TRY(const std::string text, machine::read_file(file));
  HEADROOM_TRY(const Json document, parse_json(text));
  return report::read_fleet_machine(name_of(file), document);
}

int run_report(const ReportOptions& options, const Context& context) {
  const auto files = find_files(options.places);
  if (!files) return print_error(context, files.error(), exit_could_not_look);
  report::Fleet fleet;
  for (const std::string& file : *files) {
    auto machine = read_one(file);
    if (machine) {
      fleet.machines.push_back(*std::move(machine));
    } else {
      fleet.unread.push_back({name_of(file), machine.error().message});
    }
  }
  report::sort_fleet(fleet);
  if (options.json) {
    context.printer.print_json_text(report::to_text(report::to_json(fleet)));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(report::fit(report::to_text(fleet, style), style.width));
  }
  return report::has_problem(fleet) ? exit_findings : exit_ok;
}

}  // namespace

void add_report(CLI::App& app, Context& context) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command =
      app.add_subcommand("report", "Make one table of what check said on many machines");
  command
      ->add_option("FOLDER", options->places,
                   "Folders with files that headroom check --json wrote, one for each machine; or "
                   "such files")
      ->type_name("FOLDER|FILE")
      ->required();
  command->add_flag("--json", options->json, "Print JSON (headroom.fleet/1)");
  command->footer(
      "A machine is called what its file is called. It asks no machine: srun, pdsh and Ansible do "
      "that.\n\n"
      "Exit: 0 jobs can run on every machine, 1 on one they cannot or its file could not be read, "
      "2 "
      "wrong usage, 3 no file was found.\n\n"
      "Examples:\n"
      "  ssh gpu7 headroom check --json > answers/gpu7.json\n"
      "  headroom report answers");
  command->callback([options, &context] { context.exit_code = run_report(*options, context); });
}

}  // namespace headroom::cli
