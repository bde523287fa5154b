// SPDX-License-Identifier: Apache-2.0
#include "cli/explain.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/text.h"
#include "estimate/job_arguments.h"
#include "machine/terminal.h"
#include "report/explain_report.h"
#include "run/job_file.h"
#include "run/training_command.h"

namespace headroom::cli {
namespace {

Result<report::Explanation> explain_loaded(const ExplainOptions& options,
                                           const estimate::PrintedSize& printed,
                                           const run::LoadedJob& loaded) {
  HEADROOM_TRY(const estimate::Device device, estimate::find_device(loaded.job));
  report::Explanation explanation{
      options.size, printed, estimate::dimensions_of(loaded.job, loaded.model), {}};
  HEADROOM_TRY(explanation.matches,
               estimate::explain_allocation(printed, loaded.job, loaded.model, device));
  return explanation;
}

// A Trainer's command names its model, which has the dimensions that its arguments do not tell.
std::optional<run::LoadedJob> load_command(const std::vector<std::string>& words) {
  const auto command = run::parse_training_command(words);
  if (!command) return std::nullopt;
  auto loaded = run::load_job("", command->flags);
  return loaded ? std::optional(*std::move(loaded)) : std::nullopt;
}

Result<report::Explanation> explain_command(const ExplainOptions& options,
                                            const estimate::PrintedSize& printed) {
  if (const auto loaded = load_command(options.command))
    return explain_loaded(options, printed, *loaded);
  report::Explanation explanation{
      options.size, printed, estimate::dimensions_in(join(options.command, " ")), {}};
  if (explanation.known.empty()) {
    const std::string found =
        options.command.empty() ? "none" : "a command without any of these options";
    return Error{Errc::invalid,
                 "plan --explain: expected the job's dimensions (batch, sequence, heads, hidden "
                 "width, vocabulary; or an image's height and width), found " +
                     found,
                 fmt::format("headroom plan --explain {} -- python train.py --batch_size 8 "
                             "--seq_len 1024 --num_heads 16 --hidden_size 1024, or --spec JOB.toml",
                             options.size)};
  }
  explanation.matches =
      estimate::explain_allocation(printed.size, printed.precision, explanation.known);
  return explanation;
}

Result<report::Explanation> explain_job(const ExplainOptions& options,
                                        const estimate::PrintedSize& printed) {
  HEADROOM_TRY(const run::LoadedJob loaded, run::load_job(options.spec, options.flags));
  return explain_loaded(options, printed, loaded);
}

}  // namespace

int explain(const ExplainOptions& options, const Context& context) {
  auto printed = estimate::parse_printed_size(options.size);
  if (!printed)
    return print_error(context, std::move(printed).error().in("plan --explain"), exit_usage);
  const bool is_job = !options.spec.empty() || (!options.flags.empty() && options.command.empty());
  const auto explanation =
      is_job ? explain_job(options, *printed) : explain_command(options, *printed);
  if (!explanation) return print_error(context, explanation.error(), exit_usage);
  if (options.json) {
    context.printer.print_json(to_json(*explanation));
  } else {
    context.printer.print(to_text(*explanation, machine::stdout_width()));
  }
  return explanation->matches.empty() ? exit_findings : exit_ok;
}

}  // namespace headroom::cli
