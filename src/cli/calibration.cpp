// SPDX-License-Identifier: Apache-2.0
#include "cli/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/document.h"
#include "base/document_reader.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/surroundings.h"
#include "estimate/model_config.h"
#include "history/calibrations.h"
#include "machine/processor.h"
#include "machine/program.h"
#include "machine/terminal.h"
#include "trainer/data/epoch.h"

namespace headroom::cli {
namespace {

using estimate::Calibration;
using estimate::CalibrationKey;

constexpr const char* command_line = "headroom test --calibrate";

std::string calibrations_path(const Context& context) {
  const std::string folder = state_folder(context);
  return folder.empty() ? "" : folder + "/calibration.json";
}

// The number in a variable of OpenMP's. Of a list, which is for nested loops, the first.
std::optional<std::uint64_t> find_count(const Context& context, const char* name) {
  constexpr std::uint64_t most = 4096;
  const std::string said(probe::find_variable(context.environment, name));
  const auto count = parse_u64(trim(std::string_view(said).substr(0, said.find(','))));
  return count && *count > 0 && *count <= most ? count : std::nullopt;
}

// As OpenMP does, whose threads the trainer's are: what the variables say, else one for each
// processor that this process may use (OpenMP 5.2, 21.1.2 and 21.1.3).
std::uint64_t count_threads(const Context& context) {
  const std::uint64_t threads =
      find_count(context, "OMP_NUM_THREADS").value_or(machine::usable_processors());
  return std::min(threads, find_count(context, "OMP_THREAD_LIMIT").value_or(threads));
}

CalibrationKey key_here(const Context& context) {
  return {machine::processor_name(), program_version(), count_threads(context)};
}

// Why there is no calibration; nothing where headroom-train has said it itself.
std::optional<Error> explain_status(int status) {
  constexpr int by_signal = 128;  // As machine::ask_program answers.
  if (status <= by_signal) return std::nullopt;
  return Error{Errc::busy,
               fmt::format("expected headroom-train to measure to the end, but signal {} ended it; "
                           "what was measured before is kept",
                           status - by_signal),
               command_line};
}

// Nothing, where headroom-train has said why.
Result<std::optional<Calibration>> measure() {
  HEADROOM_TRY(const std::string folder, machine::program_folder());
  auto answer = machine::ask_program({folder + "/headroom-train", "--calibrate"});
  if (!answer) {
    Error error = std::move(answer).error();
    error.next = "build headroom-train next to headroom: ./dev build";
    return error;
  }
  if (auto error = explain_status(answer->status)) return *std::move(error);
  if (answer->status != 0) return std::optional<Calibration>();
  if (const auto json = parse_json(answer->output)) {
    if (auto calibration = estimate::parse_calibration(*json))
      return std::optional(*std::move(calibration));
  }
  return Error{Errc::invalid, "expected a calibration from headroom-train, found another answer",
               "install headroom and headroom-train of one version"};
}

// The calibration of this machine, or why there is none.
Result<Calibration> find_calibration(const Context& context) {
  const std::string path = calibrations_path(context);
  if (path.empty()) return Error{Errc::not_found, "neither HOME nor XDG_STATE_HOME is set", ""};
  auto read = history::read_calibrations(path);
  if (!read) {
    Error error = std::move(read).error();
    if (error.code == Errc::invalid) error.next = command_line;  // Which replaces the file.
    return error;
  }
  const estimate::Calibrations& calibrations = *read;
  const CalibrationKey key = key_here(context);
  if (const Calibration* found = calibrations.find(key)) return *found;
  if (calibrations.all().empty())
    return Error{Errc::not_found, "this machine was not measured", command_line};
  return Error{Errc::not_found,
               fmt::format("the calibration of {} is not used: {}", calibrations.all().back().time,
                           difference_of(calibrations.all().back().key, key)),
               command_line};
}

Result<estimate::TimeEstimate> predict(const estimate::Plan& plan, const run::LoadedJob& loaded,
                                       const Context& context, std::string& no_epoch) {
  HEADROOM_TRY(const Calibration calibration, find_calibration(context));
  HEADROOM_TRY(const estimate::ModelConfig model, estimate::decoder_config(loaded.model));
  run::LoadedJob planned = loaded;
  planned.job = plan.job;
  const auto epoch = trainer::data::count_epoch(planned);
  if (!epoch) no_epoch = epoch.error().message;
  return predict_time(plan.job, model, calibration, epoch ? std::optional(*epoch) : std::nullopt);
}

// The key "timed" of headroom.train/1.
struct Timed {
  std::uint64_t steps = 0;
  double elapsed_s = 0;
  double quiet_s = 0;
};

std::optional<Timed> read_timed(const std::string& report) {
  const auto json = parse_json(report);
  if (!json) return std::nullopt;
  DocumentReader reader(*json, {.spelling = Spelling::json, .root = "the report"});
  TableReader timed = reader.root().table("timed");
  constexpr double longest_s = 1e9;
  Timed found{.steps = timed.number("steps")};
  timed.read("elapsed_s", found.elapsed_s, 0, longest_s);
  timed.read("quiet_s", found.quiet_s, 0, longest_s);
  return reader.finish() ? std::optional(found) : std::nullopt;
}

}  // namespace

int calibrate(bool json, const Context& context) {
  const std::string path = calibrations_path(context);
  if (path.empty())
    return print_error(context,
                       {Errc::not_found,
                        "expected a folder for the calibration, found neither HOME nor "
                        "XDG_STATE_HOME set",
                        fmt::format("HOME=FOLDER {}", command_line)},
                       exit_could_not_look);
  if (const Status can = history::can_keep_calibrations(path); !can)
    return print_error(context, can.error(), exit_could_not_look);
  context.printer.note("measuring for about a minute; other programs should be idle meanwhile");
  const auto measured = measure();
  if (!measured) return print_error(context, measured.error(), exit_could_not_look);
  std::optional<Calibration> calibration = *measured;
  if (!calibration) return exit_could_not_look;
  calibration->key = key_here(context);  // As plan and run will ask for it.
  const Status kept = history::keep_calibration(path, *calibration);
  if (!kept) return print_error(context, kept.error(), exit_could_not_look);
  if (json) {
    context.printer.print_json(report::calibration_to_json(*calibration, path));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(report::calibration_to_text(*calibration, path, style));
  }
  return exit_ok;
}

report::JobTime find_job_time(const estimate::Plan& plan, const run::LoadedJob& loaded,
                              const std::string& root, const Context& context) {
  report::JobTime time;
  if (plan.job.engine.kind != estimate::EngineKind::headroom) {
    time.missing = "seconds are predicted for headroom's own trainer alone";
    return time;
  }
  if (plan.fits == false) {
    time.missing = "the job does not fit";
    return time;
  }
  time.concerns = true;
  if (plan.job.device.gpu) {
    time.missing = "the plan is for a GPU, and the trainer's speed is measured on the processor";
    return time;
  }
  if (!plan.stages.empty()) {
    time.missing = "the layers are shared out over ranks, which wait for each other";
    return time;
  }
  if (root != "/") {
    time.missing = "the plan is for another machine, whose speed is not known";
    return time;
  }
  const auto estimate = predict(plan, loaded, context, time.missing_epoch);
  if (estimate) {
    time.estimate = *estimate;
  } else {
    time.missing = estimate.error().message;
    time.next = estimate.error().next;
  }
  return time;
}

void correct_calibration(const report::JobTime& predicted, const estimate::Plan& plan,
                         const std::string& report, const Context& context) {
  constexpr std::uint64_t fewest_steps = 3;
  constexpr double most_waited = 0.3, most_off = 5;
  if (!predicted.estimate) return;
  const auto timed = read_timed(report);
  if (!timed || timed->steps < fewest_steps ||
      timed->quiet_s < timed->elapsed_s * (1 - most_waited))
    return;
  const estimate::MeasuredStep step{
      .dtype = plan.job.compute.dtype,
      .rates_s = predicted.estimate->rates_s,
      .measured_s = timed->quiet_s / static_cast<double>(timed->steps)};
  const double off = step.measured_s / step.rates_s;
  if (!(off > 1 / most_off && off < most_off)) return;
  auto calibration = find_calibration(context);
  if (!calibration) return;
  calibration->add_run(step);
  const Status kept = history::keep_calibration(calibrations_path(context), *calibration);
  if (!kept) context.printer.note("the calibration is not corrected: " + kept.error().message);
}

}  // namespace headroom::cli
