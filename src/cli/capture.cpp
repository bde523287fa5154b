// SPDX-License-Identifier: Apache-2.0
// headroom capture: records what check reads of a machine, without what is nobody's business, into
// a folder or archive that every command with --root reads. The record is read back at once, so
// that whoever sends it knows that it says the same.
#include <fmt/format.h>

#include "base/document.h"
#include "capture/write_recording.h"
#include "cli/commands.h"
#include "cli/machine_record.h"
#include "cli/record_output.h"
#include "knowledge/gpu_tables.h"
#include "machine/open_root.h"
#include "machine/terminal.h"
#include "machine/user.h"
#include "report/capture_report.h"

namespace headroom::cli {
namespace {

struct CaptureOptions {
  std::string output;
  std::string root = "/";
  std::string python;
  bool json = false;
};

// The capture, read back: where check says something else of it.
Result<std::vector<std::string>> find_differences(const std::string& output,
                                                  const std::string& python,
                                                  const std::string& expected,
                                                  const knowledge::GpuTables& tables) {
  HEADROOM_TRY(const machine::OpenRoot root, machine::open_root(output));
  HEADROOM_TRY(const std::string found, check_as_text(root.files, tables, {{}, python}));
  std::vector<std::string> pointers;
  if (found == expected) return pointers;
  HEADROOM_TRY(const Json before, parse_json(expected));
  HEADROOM_TRY(const Json after, parse_json(found));
  for (const Json& change : Json::diff(before, after)) {
    pointers.push_back(change["path"].get<std::string>());
  }
  return pointers;
}

void add_refusals(report::CaptureReport& report, const machine::Recording& recording) {
  for (const auto& [path, reason] : recording.refused) {
    if (reason == "EACCES" || reason == "EPERM") {
      report.no_permission.push_back(path);
    } else {
      ++report.unreadable;
    }
  }
}

Result<report::CaptureReport> record(const CaptureOptions& options, const Context& context) {
  HEADROOM_TRY(MachineRecord machine, record_machine(options.root, options.python, context));
  HEADROOM_TRY(const auto writer, make_record_writer(options.output));
  const redact::Counts counts = machine.redactor.counts();
  HEADROOM_TRY(const capture::Written written,
               capture::write_recording(machine.recording, counts, *writer));
  HEADROOM_CHECK(writer->finish());

  report::CaptureReport report;
  report.output = options.output;
  report.python = machine.python;
  report.archive = is_archive_name(options.output);
  report.files = written.files;
  report.links = written.links;
  report.stand_ins = written.stand_ins;
  report.bytes = written.bytes;
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    report.redacted.emplace_back(to_string(static_cast<redact::Kind>(kind)), counts[kind]);
  }
  add_refusals(report, machine.recording);
  report.more_as_root =
      machine.is_live && !report.no_permission.empty() && !machine::runs_as_root();
  HEADROOM_TRY(report.differences,
               find_differences(options.output, machine.python,
                                machine.redactor.report(machine.answer), machine.tables));
  return report;
}

int run_capture(CaptureOptions options, const Context& context) {
  context.printer.finish_first();  // The file is what is wanted.
  while (options.output.size() > 1 && options.output.ends_with('/')) options.output.pop_back();
  if (const auto good = check_record_name(options.output, "capture"); !good) {
    return print_error(context, good.error(), exit_usage);
  }
  const auto report = record(options, context);
  if (!report) {
    Error error = report.error();
    if (error.next.empty()) error.next = "headroom capture --help";
    return print_error(context,
                       std::move(error).in(options.root == "/" ? "capturing this machine"
                                                               : "capturing " + options.root),
                       exit_could_not_look);
  }
  if (options.json) {
    context.printer.print_json(report::to_json(*report));
  } else {
    context.printer.print(report::to_text(
        *report, report::Style{machine::stdout_shows_colour(), machine::stdout_width()}));
  }
  return report->differences.empty() ? exit_ok : exit_findings;
}

}  // namespace

void add_capture(CLI::App& app, Context& context) {
  auto options = std::make_shared<CaptureOptions>();
  CLI::App* command = app.add_subcommand(
      "capture", "Record what check reads, without serial numbers, names and secrets");
  command
      ->add_option("OUT", options->output,
                   "A new folder, or a new archive if the name ends in .tar.zst")
      ->type_name("OUT")
      ->required();
  command
      ->add_option("--root", options->root,
                   "Record a captured machine instead, to remove private data from it")
      ->type_name("PATH");
  command
      ->add_option("--python", options->python, "The Python that jobs use, as for headroom check")
      ->type_name("PATH");
  command->add_flag("--json", options->json, "Print JSON (headroom.capture/1)");
  command->footer(
      "It writes only to OUT, and overwrites nothing. Look through the record before you publish "
      "it.\n\n"
      "Exit: 0 recorded, 1 recorded, but check gives another answer for the record, 2 wrong usage, "
      "3 could not look or write.\n\n"
      "Examples:\n"
      "  headroom capture machine.tar.zst            one file to attach to a bug report\n"
      "  headroom check --root machine.tar.zst       what the receiver types");
  command->callback([options, &context] { context.exit_code = run_capture(*options, context); });
}

}  // namespace headroom::cli
