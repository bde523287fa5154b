// SPDX-License-Identifier: Apache-2.0
// headroom tune: finds the workers, threads and batches with which a service on the processor is
// fastest, and says what a GPU would be worth to it.
#include <fmt/format.h>

#include <memory>

#include "base/document.h"
#include "cli/commands.h"
#include "cli/deploy_order.h"
#include "cli/number_between.h"
#include "machine/output_files.h"
#include "machine/program.h"
#include "report/deploy_report.h"
#include "report/tune_report.h"
#include "service/tuning.h"
#include "service/workplace.h"

namespace headroom::cli {
namespace {

struct TuneCommand {
  std::string file;
  std::string output;
  bool apply = false;
  bool json = false;
  tune::WorthQuestion worth;
};

int exit_code_of(const tune::TuneReport& report) {
  using tune::Outcome;
  const bool is_well = report.outcome == Outcome::planned || report.outcome == Outcome::deployed ||
                       report.outcome == Outcome::kept;
  return is_well ? exit_ok : exit_findings;
}

// What an earlier one left was finished, and nothing else was done: said as deploy says it.
int print_finished(const TuneCommand& command, const service::DeployDone& done,
                   const Context& context) {
  context.printer.note("finished an interrupted deployment or tuning, and did nothing else");
  if (command.json) {
    context.printer.print_json_text(report::to_json(done.report).dump(2) + "\n");
  } else {
    context.printer.print(report::to_text(done.report, style_of_stdout()));
  }
  return done.report.outcome == deploy::Outcome::committed ? exit_ok : exit_findings;
}

// A file that headroom deploy takes: the same service with the change that was found.
Status write_change(const machine::OutputFile& output, const tune::TuneReport& report) {
  if (output.path.empty() || report.changes.empty()) return Done{};
  return machine::write_output(output, "# " + report.name +
                                           ": the fastest settings that headroom tune found.\n" +
                                           tune::to_toml(report.changes));
}

// What is read and tuned: none of it is the place for the change that was found. Names are in the
// folder of SERVICE.toml.
std::vector<std::string> files_of(const service::DeployOrder& order, const std::string& typed) {
  const std::string folder = service::folder_of(order.file) + "/";
  std::vector<std::string> files = {typed};
  const auto add = [&](const std::string& file) {
    if (!file.empty()) files.push_back(file.starts_with('/') ? file : folder + file);
  };
  const deploy::ServiceSpec& spec = order.spec;
  for (const deploy::FileChange& change : spec.changes) {
    add(change.file);
    add(change.with.value_or(""));
  }
  add(spec.service.file);
  add(spec.service.pidfile.value_or(""));
  add(spec.expect.job.value_or(""));
  if (spec.smoke.request) add(spec.smoke.request->body_file.value_or(""));
  for (const auto* command : {&spec.service.start, &spec.service.stop, &spec.service.status,
                              &spec.service.logs, &spec.health.command, &spec.smoke.command}) {
    for (const std::string& word : *command) add(word);  // A script, or what it reads.
  }
  for (const deploy::TuneSetting& setting : spec.tune) add(setting.file);
  return files;
}

int run_tune(const TuneCommand& command, const Context& context) {
  auto order = read_order_or_interrupted(command.file, true, context);
  if (!order) return print_error(context, order.error(), exit_usage);
  const machine::OutputFile output{"--output", command.output};
  machine::InputFiles inputs;
  inputs.files = files_of(*order, command.file);
  for (const Status& fits :
       {machine::check_names({output}, inputs), machine::check_places({output})}) {
    if (!fits) return print_error(context, fits.error(), exit_usage);
  }
  order->apply = command.apply;
  if (const Status is_whole = complete(*order, context); !is_whole)
    return print_error(context, is_whole.error(), exit_could_not_look);
  if (command.apply) context.printer.finish_first();
  const service::TuneOrder tuning{*order, machine::usable_processors(), command.worth};
  const auto done = service::tune_service(tuning);
  if (!done) return print_change_error(context, done.error(), exit_could_not_look);
  if (done->mistake) return print_error(context, *done->mistake, exit_usage);
  if (done->finished) return print_finished(command, *done->finished, context);
  if (command.json) {
    context.printer.print_json_text(report::to_json(done->report).dump(2) + "\n");
  } else {
    context.printer.print(report::to_text(done->report, style_of_stdout()));
  }
  if (const Status written = write_change(output, done->report); !written)
    return print_error(context, written.error(), exit_could_not_look);
  return exit_code_of(done->report);
}

CLI::Option* add_figure(CLI::App& command, const std::string& name, std::optional<double>& value,
                        const std::string& about, const std::string& unit) {
  return command.add_option(name, value, about)
      ->check(number_between(1e-9, 1e12, ""))
      ->type_name(unit);
}

void add_worth(CLI::App& command, tune::WorthQuestion& worth) {
  const char* group = "What a GPU would be worth";
  auto* items = add_figure(command, "--items-per-day", worth.items_per_day,
                           "How many requests the service has a day", "N");
  items->group(group);
  const std::vector<CLI::Option*> others = {
      add_figure(command, "--faster", worth.faster,
                 "How many times as fast the GPU answers (else: faster in [expect])", "RATIO"),
      add_figure(command, "--gpu-price", worth.gpu_price, "Its price, in any currency", "PRICE"),
      add_figure(command, "--gpu-watts", worth.gpu_watts, "What it takes while it works", "WATTS"),
      add_figure(command, "--electricity", worth.electricity,
                 "The price of a kWh, in the same currency", "PRICE"),
      add_figure(command, "--cpu-watts", worth.cpu_watts,
                 "What the processor takes while it works (else: measured, where root may read it)",
                 "WATTS")};
  for (CLI::Option* other : others) other->group(group)->needs(items);
}

}  // namespace

void add_tune(CLI::App& app, Context& context) {
  auto options = std::make_shared<TuneCommand>();
  CLI::App* command = app.add_subcommand(
      "tune", "Find the fastest workers, threads and batches of a service on the processor");
  command
      ->add_option("SERVICE.toml", options->file,
                   "The service and the requests that prove it, as for headroom deploy")
      ->required()
      ->type_name("SERVICE.toml");
  command->add_flag("--apply", options->apply,
                    "Try the settings on the running service, and deploy the fastest");
  command
      ->add_option("--output", options->output,
                   "Write the change that was found, as [[change]] of a SERVICE.toml")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print JSON (headroom.tune/1)");
  add_worth(*command, options->worth);
  command->footer(
      "Each setting is tried by a deployment that is taken back: the service is restarted with it, "
      "asked, and stopped. What may be varied, [[tune]] in SERVICE.toml says, or headroom knows it "
      "of the program.\n\n"
      "Exit: 0 found, or nothing is faster (without --apply, nothing was touched), 1 refused, "
      "ended "
      "or not kept, 2 a mistake in the file, 3 could not look, no permission, or the service is "
      "being deployed.\n\n"
      "Examples:\n"
      "  headroom tune SERVICE.toml            show what would be tried, and how often\n"
      "  headroom tune SERVICE.toml --apply    try it, and deploy the fastest");
  command->callback([options, &context] {
    if (options->worth.cpu_watts) options->worth.cpu_watts_source = "--cpu-watts";
    context.exit_code = run_tune(*options, context);
  });
}

}  // namespace headroom::cli
