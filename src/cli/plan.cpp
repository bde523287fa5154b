// SPDX-License-Identifier: Apache-2.0
// `headroom plan`: what a job will take, before it runs.
#include "estimate/plan.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/explain.h"
#include "report/plan_json.h"
#include "report/plan_text.h"
#include "run/job_file.h"

namespace headroom::cli {
namespace {

struct Options {
  std::string job;                // The first argument.
  std::vector<std::string> rest;  // The other ones: of a command behind "--".
  std::string spec;
  std::string explain;
  bool json = false;
};

// "headroom plan --explain 3.99GiB -- python main.py --batch_size 64": the arguments are a job or a
// command.
ExplainOptions to_explain(const Options& options) {
  ExplainOptions asked{options.explain, options.spec, options.rest, options.json};
  const bool is_command = !options.rest.empty() || options.job.find(' ') != std::string::npos;
  if (is_command) {
    asked.command.insert(asked.command.begin(), options.job);
  } else if (!options.job.empty()) {
    asked.spec = options.job;
  }
  return asked;
}

int run_plan(const Options& options) {
  if (!options.explain.empty()) return explain(to_explain(options));
  if (!options.rest.empty())
    return print_error(
        {Errc::invalid, fmt::format("plan: one argument too many: \"{}\"", options.rest.front()),
         "headroom plan --help"},
        exit_usage);
  const std::string& spec = options.spec.empty() ? options.job : options.spec;
  if (spec.empty())
    return print_error(
        {Errc::invalid, "plan: expected a job, found none", "headroom plan JOB.toml"}, exit_usage);
  const std::string name = spec == "-" ? "standard input" : spec;
  const auto loaded = run::load_job(spec);
  if (!loaded) return print_error(loaded.error(), exit_usage);
  auto device = estimate::find_device(loaded->job);
  if (!device) return print_error(std::move(device).error().in(name), exit_usage);
  auto plan = estimate::make_plan(loaded->job, loaded->model, *device);
  if (!plan) return print_error(std::move(plan).error().in(name), exit_usage);
  if (options.json) {
    fmt::print("{}\n", report::to_json(*plan).dump(2));
  } else {
    fmt::print("{}", report::to_text(*plan, loaded->model));
  }
  return plan->fits == false ? exit_findings : exit_ok;
}

}  // namespace

void add_plan(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("plan", "Predict a job's peak memory, and what would fit, before it runs");
  auto* job = command->add_option("job", options->job,
                                  "The job: a TOML or JSON file, or - for standard input");
  command->add_option("--spec", options->spec, "The same, by name")->excludes(job);
  command->add_option(
      "--explain", options->explain,
      "Name the tensor of this size, as a failed allocation printed it: 3.99GiB; of "
      "the job, or of a command: headroom plan --explain 3.99GiB -- CMD ...");
  command->add_option("command", options->rest, "With --explain: a command, behind --");
  command->add_flag("--json", options->json,
                    "Print JSON (headroom.plan/1; with --explain headroom.explain/1)");
  command->callback([options, &context] { context.exit_code = run_plan(*options); });
}

}  // namespace headroom::cli
