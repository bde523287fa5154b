// SPDX-License-Identifier: Apache-2.0
// `headroom plan`: what a job will take, before it runs.
#include "estimate/plan.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/commands.h"
#include "report/plan_json.h"
#include "report/plan_text.h"
#include "run/job_file.h"

namespace headroom::cli {
namespace {

struct Options {
  std::string spec;
  bool json = false;
};

int run_plan(const Options& options) {
  if (options.spec.empty())
    return print_error(
        {Errc::invalid, "plan: expected a job, found none", "headroom plan JOB.toml"}, exit_usage);
  const std::string name = options.spec == "-" ? "standard input" : options.spec;
  const auto loaded = run::load_job(options.spec);
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
  auto* job = command->add_option("job", options->spec,
                                  "The job: a TOML or JSON file, or - for standard input");
  command->add_option("--spec", options->spec, "The same, by name")->excludes(job);
  command->add_flag("--json", options->json, "Print JSON (headroom.plan/1)");
  command->callback([options, &context] { context.exit_code = run_plan(*options); });
}

}  // namespace headroom::cli
