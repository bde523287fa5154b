// SPDX-License-Identifier: Apache-2.0
#include "cli/run_command_job.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/bytes.h"
#include "cli/present_gpu.h"
#include "cli/run_command.h"
#include "cli/run_training.h"
#include "estimate/plan.h"
#include "machine/private_folders.h"
#include "run/output_folder.h"

namespace headroom::cli {
namespace {

Result<estimate::Plan> plan(const run::LoadedJob& loaded, const Context& context) {
  std::optional<estimate::PresentGpu> present;
  if (loaded.job.device.gpu == "auto") {
    HEADROOM_TRY(present, find_present_gpu("/", context));
  }
  HEADROOM_TRY(const estimate::Device device, estimate::find_device(loaded.job, present));
  return estimate::make_plan(loaded.job, loaded.model, device);
}

Error needs_a_plan(const std::string& why) {
  return {Errc::invalid, "batch.micro = \"auto\": expected a job that can be planned, but " + why,
          "write batch.micro as a number; headroom halves it if it does not fit"};
}

supervisor::Settings settings_of(const run::CommandJob& job,
                                 const std::optional<estimate::Plan>& plan) {
  supervisor::Settings settings;
  settings.micro = job.micro;
  settings.accumulate = job.accumulate;
  if (plan && job.micro_is_automatic) settings.micro = plan->job.batch.micro;
  if (plan && (job.micro_is_automatic || settings.accumulate))
    settings.accumulate = plan->job.batch.accumulate;
  for (const std::string& word : job.command) {
    if (!settings.micro && word.find("{micro}") != std::string::npos) settings.micro = 1;
    if (!settings.accumulate && word.find("{accumulate}") != std::string::npos)
      settings.accumulate = 1;
  }
  return settings;
}

void say_plan(const estimate::Plan& plan, const Context& context) {
  context.printer.note(
      fmt::format("planned peak {}{}", to_string(Bytes{plan.device_bytes}),
                  plan.capacity_bytes ? " of " + to_string(Bytes{*plan.capacity_bytes}) : ""));
}

// Everything that the run writes goes into the folder.
Status choose_report(const CommandJobQuestion& question, CommandOptions& options) {
  std::string folder = question.output;
  if (folder.empty() && question.job.as_planned)
    folder = run::output_folder(*question.job.as_planned, "");
  if (folder.empty() && question.job.output_folder) folder = *question.job.output_folder;
  if (folder.empty() || !options.report.empty()) return Done{};
  options.report = folder + "/report.json";
  return machine::make_private_folders_above(options.report);
}

}  // namespace

int run_command_job(const CommandJobQuestion& question, const CommandOptions& options,
                    const Context& context) {
  std::optional<estimate::Plan> planned;
  std::string why_not = "it names no model";
  if (question.job.as_planned) {
    auto made = plan(*question.job.as_planned, context);
    if (!made && made.error().code != Errc::unsupported)
      return print_error(context, std::move(made).error().in(question.path), exit_usage);
    if (made) {
      planned = *std::move(made);
    } else {
      why_not = made.error().message;
      context.printer.note("running it without a plan: " + why_not);
    }
  }
  if (planned && planned->fits == false)
    return refuse_plan(*planned, *question.job.as_planned, question.path, context);
  if (!planned && question.job.micro_is_automatic)
    return print_error(context, needs_a_plan(why_not).in(question.path), exit_usage);
  if (planned && !question.quiet) say_plan(*planned, context);
  CommandQuestion asked{.words = question.job.command,
                        .options = options,
                        .quiet = question.quiet,
                        .of_job = settings_of(question.job, planned),
                        .job = question.path};
  if (const auto chosen = choose_report(question, asked.options); !chosen)
    return print_error(context, chosen.error(), exit_could_not_look);
  return run_command(asked, context);
}

}  // namespace headroom::cli
