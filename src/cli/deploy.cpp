// SPDX-License-Identifier: Apache-2.0
// headroom deploy: changes a service's configuration, proves it with real requests, and keeps it or
// puts the old one back.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/document.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/deploy_init.h"
#include "cli/surroundings.h"
#include "machine/program.h"
#include "machine/services/paths.h"
#include "machine/terminal.h"
#include "machine/user_files.h"
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

report::Style style_of_stdout() {
  return {machine::stdout_shows_colour(), machine::stdout_width()};
}

// What a person types to look at it again.
std::vector<std::string> words_without_acting(const Context& context) {
  std::vector<std::string> words;
  for (const std::string& word : context.words) {
    if (word != "--apply" && word != "--finish") words.push_back(word);
  }
  return words;
}

std::vector<std::string> variables_of(const Context& context) {
  std::vector<std::string> variables;
  for (const std::string_view one : split(context.environment, '\0')) {
    if (!one.empty()) variables.emplace_back(one);
  }
  return variables;
}

// Fails with what is wrong with the file.
Result<service::DeployOrder> read_order(const DeployCommand& command) {
  service::DeployOrder order;
  HEADROOM_TRY(order.file, machine::real_path(command.file));
  HEADROOM_TRY(order.text, machine::read_file(order.file, std::size_t{1} << 20U));
  HEADROOM_TRY(order.spec, deploy::parse_service_spec(order.text, command.file));
  order.root = command.root;
  order.apply = command.apply;
  order.force = command.force;
  order.only_finish = command.finish;
  order.leaves_session = true;
  return order;
}

// As a record names it, whether it is there or not.
std::string absolute_path(const std::string& file) {
  if (const auto real = machine::real_path(file)) return *real;
  const auto here = machine::real_path(".");
  return file.starts_with('/') || !here ? file : *here + "/" + file;
}

// The file may have been changed or removed since a deployment of it was killed. What that one was
// asked to do is kept beside its record, and is enough to finish it. Nothing: none was interrupted.
std::optional<service::DeployOrder> read_interrupted(const DeployCommand& command,
                                                     const Context& context) {
  auto files = machine::WritableFiles::open("/");
  const std::string state = deployments_folder(context);
  if (!files || state.empty() || command.root != "/") return std::nullopt;
  const auto names = service::deployed_services(*files, state);
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    const service::Places places(*files, state, name);
    const auto record = places.read_record();
    if (!record || !*record || !deploy::needs_finishing(**record)) continue;
    if ((*record)->spec != absolute_path(command.file)) continue;
    const auto text = places.read_service_file();
    if (!text) continue;
    auto spec = deploy::parse_service_spec(*text, command.file);
    if (!spec) continue;
    service::DeployOrder order;
    order.file = (*record)->spec;
    order.text = *text;
    order.spec = *std::move(spec);
    order.only_finish = true;
    return order;
  }
  return std::nullopt;
}

void complete(service::DeployOrder& order, const Context& context) {
  order.state = deployments_folder(context);
  const auto folder = machine::program_folder();
  order.program = folder ? *folder + "/headroom" : "";
  order.environment = variables_of(context);
  order.surroundings = make_surroundings(context, "", order.root == "/");
  order.words = words_without_acting(context);
  order.say = [&context](const std::string& text, const std::string& next) {
    context.printer.note(text);
    if (!next.empty()) context.printer.say("  next: " + next + "\n");
  };
}

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
  auto order = read_order(command);
  if (!order) {
    auto interrupted = read_interrupted(command, context);
    if (!interrupted) return print_error(context, order.error(), exit_usage);
    context.printer.note(
        order.error().message +
        "; headroom finishes its interrupted deployment with the copy that it kept");
    order = *std::move(interrupted);
  }
  complete(*order, context);
  if (order->state.empty()) {
    return print_error(
        context, {Errc::not_found, "expected HOME or XDG_STATE_HOME to say where records go", ""},
        exit_could_not_look);
  }
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
