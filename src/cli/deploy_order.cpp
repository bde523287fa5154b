// SPDX-License-Identifier: Apache-2.0
#include "cli/deploy_order.h"

#include "base/text.h"
#include "cli/surroundings.h"
#include "machine/program.h"
#include "machine/services/paths.h"
#include "machine/terminal.h"
#include "machine/user_files.h"
#include "service/places.h"

namespace headroom::cli {
namespace {

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

// As a record names it, whether it is there or not.
std::string absolute_path(const std::string& file) {
  if (const auto real = machine::real_path(file)) return *real;
  const auto here = machine::real_path(".");
  return file.starts_with('/') || !here ? file : *here + "/" + file;
}

}  // namespace

report::Style style_of_stdout() {
  return {machine::stdout_shows_colour(), machine::stdout_width()};
}

Result<service::DeployOrder> read_order(const std::string& file) {
  service::DeployOrder order;
  HEADROOM_TRY(order.file, machine::real_path(file));
  HEADROOM_TRY(order.text, machine::read_file(order.file, std::size_t{1} << 20U));
  HEADROOM_TRY(order.spec, deploy::parse_service_spec(order.text, file));
  order.leaves_session = true;
  return order;
}

std::optional<service::DeployOrder> read_interrupted(const std::string& file,
                                                     const Context& context) {
  auto files = machine::WritableFiles::open("/");
  const std::string state = deployments_folder(context);
  if (!files || state.empty()) return std::nullopt;
  const auto names = service::deployed_services(*files, state);
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    const service::Places places(*files, state, name);
    const auto record = places.read_record();
    if (!record || !*record || !deploy::needs_finishing(**record)) continue;
    if ((*record)->spec != absolute_path(file)) continue;
    const auto text = places.read_service_file();
    if (!text) continue;
    auto spec = deploy::parse_service_spec(*text, file);
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

Result<service::DeployOrder> read_order_or_interrupted(const std::string& file, bool is_here,
                                                       const Context& context) {
  auto order = read_order(file);
  if (order) return order;
  auto interrupted = is_here ? read_interrupted(file, context) : std::nullopt;
  if (!interrupted) return order;
  context.printer.note(order.error().message +
                       "; headroom finishes its interrupted deployment with the copy that it kept");
  return *std::move(interrupted);
}

Status complete(service::DeployOrder& order, const Context& context) {
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
  if (!order.state.empty()) return Done{};
  return Error{Errc::not_found, "expected HOME or XDG_STATE_HOME to say where records go", ""};
}

}  // namespace headroom::cli
