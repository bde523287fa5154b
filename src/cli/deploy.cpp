// SPDX-License-Identifier: Apache-2.0
// headroom deploy: changes a service's configuration, proves it with real requests, and keeps it or
// puts the old one back.
#include <fmt/format.h>

#include <memory>

#include "base/document.h"
#include "base/shell_quote.h"
#include "cli/commands.h"
#include "cli/deploy_init.h"
#include "cli/deploy_order.h"
#include "cli/surroundings.h"
#include "report/deploy_report.h"
#include "service/deployment.h"
#include "service/places.h"

namespace headroom::cli {
namespace {

struct DeployCommand {
  std::string file;
  std::string root = "/";
  std::string init;
  bool status = false;
  bool apply = false;
  bool force = false;
  bool finish = false;
  bool json = false;
};

// What was to be finished is well finished either way: the unit that does it at boot must not be
// told to have failed where it did its work.
int exit_code_of(const deploy::DeployReport& report, bool finishes) {
  using deploy::Outcome;
  const bool is_back =
      finishes && report.outcome == Outcome::rolled_back && report.restored.value_or(true);
  const bool is_well =
      is_back || report.outcome == Outcome::committed || report.outcome == Outcome::planned;
  return is_well ? exit_ok : exit_findings;
}

int run_deployment(const DeployCommand& command, const Context& context) {
  auto order = read_order_or_interrupted(command.file, command.root == "/", context);
  if (!order) return print_error(context, order.error(), exit_usage);
  if (!order->only_finish) {  // Else it is one that was interrupted.
    order->root = command.root;
    order->apply = command.apply;
    order->force = command.force;
    order->only_finish = command.finish;
  }
  if (const Status is_whole = complete(*order, context); !is_whole)
    return print_error(context, is_whole.error(), exit_could_not_look);
  if (command.apply || command.finish) context.printer.finish_first();
  const auto done = service::deploy_service(*order);
  if (!done) return print_change_error(context, done.error(), exit_could_not_look);
  if (done->mistake) return print_error(context, *done->mistake, exit_usage);
  const deploy::DeployReport& report = done->report;
  if (command.json) {
    context.printer.print_json_text(report::to_json(report).dump(2) + "\n");
  } else if (report.outcome == deploy::Outcome::planned || !command.apply) {
    context.printer.print(report::to_text(report, done->change, style_of_stdout()));
  } else {
    context.printer.print(report::to_text(report, style_of_stdout()));
  }
  return exit_code_of(report, command.finish);
}

// What is under way, or was last, of every service.
int show_status(const DeployCommand& command, const Context& context) {
  auto files = machine::WritableFiles::open("/");
  if (!files) return print_error(context, files.error(), exit_could_not_look);
  const std::string state = deployments_folder(context);
  const auto names = service::deployed_services(*files, state);
  if (!names) return print_change_error(context, names.error(), exit_could_not_look);
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::string page;
  int code = exit_ok;
  for (const std::string& name : *names) {
    const service::Places places(*files, state, name);
    const auto record = places.read_record();
    if (!record) code = print_change_error(context, record.error(), exit_could_not_look);
    if (!record || !*record) continue;
    const bool runs = !places.holders().empty();
    auto json = report::to_json(**record);
    json.erase("schema");  // That of all of them is the document's.
    json["running"] = runs;
    all.push_back(std::move(json));
    page += report::to_text(**record, style_of_stdout());
    if (!runs && deploy::needs_finishing(**record)) {
      page += fmt::format("  It was interrupted. To finish it: headroom deploy --finish {}\n",
                          (*record)->spec);
    }
  }
  if (command.json) {
    nlohmann::ordered_json document{{"schema", "headroom.deploy-status/1"}, {"deployments", all}};
    context.printer.print_json_text(document.dump(2) + "\n");
  } else {
    context.printer.print(page.empty() ? "No service was deployed by headroom here.\n" : page);
  }
  return code;
}

int run_deploy(const DeployCommand& command, const Context& context) {
  if (command.status) return show_status(command, context);
  if (!command.init.empty()) return write_service_file(command.init, context);
  if (command.file.empty()) {
    return print_error(context,
                       {Errc::invalid, "deploy: expected a SERVICE.toml, found none",
                        "headroom deploy --init UNIT   (writes one to start from)"},
                       exit_usage);
  }
  if (command.file.ends_with(".yml") || command.file.ends_with(".yaml")) {
    return print_error(
        context,
        {Errc::invalid,
         fmt::format("deploy: expected a SERVICE.toml, found a compose file: {}", command.file),
         fmt::format("headroom deploy --init {}   (writes a SERVICE.toml for it, to be filled in)",
                     shell_quote(command.file))},
        exit_usage);
  }
  return run_deployment(command, context);
}

}  // namespace

void add_deploy(CLI::App& app, Context& context) {
  auto options = std::make_shared<DeployCommand>();
  CLI::App* command = app.add_subcommand(
      "deploy", "Change the configuration of a service, and keep it only if it works under load");
  auto* file = command->add_option("SERVICE.toml", options->file,
                                   "What to change, and the requests that prove it");
  file->type_name("SERVICE.toml");
  auto* apply = command->add_flag(
      "--apply", options->apply,
      "Deploy the change; the command ends when the change is kept or rolled back");
  auto* force = command->add_flag("--force", options->force,
                                  "Continue although the gate refuses, and without a baseline");
  auto* root = command->add_option(
      "--root", options->root,
      "Judge a captured machine, as for headroom check --root; nothing is changed");
  root->type_name("PATH");
  auto* status = command->add_flag("--status", options->status,
                                   "Show the present or last deployment of every service");
  auto* init = command
                   ->add_option("--init", options->init,
                                "Write a SERVICE.toml to start from, for a unit, a quadlet or a "
                                "compose file")
                   ->type_name("UNIT|FILE");
  auto* finish =
      command->add_flag("--finish", options->finish, "Only finish an interrupted deployment");
  for (auto* other : {file, apply, force, root, finish}) {
    status->excludes(other);
    init->excludes(other);
  }
  status->excludes(init);
  finish->excludes(apply);
  command->add_flag("--json", options->json, "Print JSON (headroom.deploy/1)");
  command->footer(
      "The gate is what headroom checks before anything is changed: the machine, the devices, the "
      "memory, the image.\n\n"
      "Exit: 0 kept (without --apply, it would pass the gate), 1 refused or rolled back, 2 a "
      "mistake in the file, 3 could not look, no permission, or another deployment of the service "
      "is running. With --finish also 0 if the old configuration is back and has passed its smoke "
      "test.\n\n"
      "Examples:\n"
      "  headroom deploy --init docker-compose.yml    write SERVICE.toml, to be filled in\n"
      "  headroom deploy SERVICE.toml                 show what the gate says\n"
      "  headroom deploy SERVICE.toml --apply         change it, test it, then keep it or roll it "
      "back");
  command->callback([options, &context] { context.exit_code = run_deploy(*options, context); });
}

}  // namespace headroom::cli
