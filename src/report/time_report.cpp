// SPDX-License-Identifier: Apache-2.0
#include "report/time_report.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/document.h"
#include "base/printable.h"

namespace headroom::report {
namespace {

using estimate::Calibration;
using estimate::DType;
using estimate::Operation;
using estimate::Seconds;

constexpr double minute = 60, hour = 3600, day = 86400, year = 365 * day;

std::string range_of(const Seconds& seconds) {
  return fmt::format("{} to {}", time_to_text(seconds.low), time_to_text(seconds.high));
}

Seconds operator*(const Seconds& seconds, double factor) {
  return {seconds.likely * factor, seconds.low * factor, seconds.high * factor};
}

std::string row(const std::string& what, const Seconds& seconds) {
  return fmt::format("  {:<24}{:>18}   {}\n", what, time_to_text(seconds.likely),
                     range_of(seconds));
}

std::string basis_of(const estimate::TimeEstimate& estimate) {
  if (estimate.runs == 0) return fmt::format("calibrated {}", estimate.calibrated);
  return fmt::format("calibrated {}, corrected by {} {}", estimate.calibrated, estimate.runs,
                     estimate.runs == 1 ? "run" : "runs");
}

// One measured figure, as a step of headroom.test/1.
struct Figure {
  std::string name;
  double value = 0;
  std::string unit;
  std::string meaning;
};

void add_speeds(const Calibration& calibration, DType dtype, std::vector<Figure>& figures) {
  constexpr double giga = 1e9, micro = 1e-6;
  const std::string suffix = fmt::format("-{}", to_string(dtype));
  const auto product = calibration.rates.find({Operation::product_forward, dtype});
  const auto add = calibration.rates.find({Operation::add, dtype});
  if (product == calibration.rates.end() || add == calibration.rates.end()) return;
  constexpr std::uint64_t large = 1024, rows = 2048, small = 32, numbers = 1U << 22U;
  const auto speed = [&product](std::uint64_t first, std::uint64_t others) {
    const auto sizes = static_cast<double>(first * others * others);
    return 2 * sizes / product->second.seconds({first, others, others}) / giga;
  };
  figures.push_back({"products" + suffix, speed(rows, large), "GFLOP/s", "large products"});
  figures.push_back(
      {"small-products" + suffix, speed(small, 64), "GFLOP/s", "products of 32 by 64 by 64"});
  // Two numbers are read for each that is written.
  const double bytes = 3.0 * numbers * static_cast<double>(size_of(dtype));
  figures.push_back({"bandwidth" + suffix, bytes / add->second.seconds({numbers, 1, 1}) / giga,
                     "GB/s", "passes over memory"});
  figures.push_back({"operation" + suffix, add->second.seconds({1, 1, 1}) / micro, "us",
                     "the smallest operation"});
  const auto correction = correction_of(calibration, dtype, 1);
  figures.push_back(
      {"step" + suffix, correction.factor, "of its operations",
       fmt::format("whole steps; a range of {:.2f} to {:.2f}", correction.low, correction.high)});
}

std::vector<Figure> figures_of(const Calibration& calibration) {
  std::vector<Figure> figures;
  for (const DType dtype : {DType::fp32, DType::bf16}) add_speeds(calibration, dtype, figures);
  return figures;
}

constexpr const char* next = "headroom plan JOB.toml";
// From there on what else ran may show in what was measured.
constexpr double worth_saying = 0.1;

}  // namespace

std::string time_to_text(double seconds) {
  if (seconds > year) return "more than a year";
  if (seconds >= 2 * day) return fmt::format("{:.0f} days", seconds / day);
  if (seconds >= 2 * hour) return fmt::format("{:.1f} hours", seconds / hour);
  if (seconds >= 10 * minute) return fmt::format("{:.0f} min", seconds / minute);
  if (seconds >= 2 * minute) return fmt::format("{:.1f} min", seconds / minute);
  if (seconds >= 10) return fmt::format("{:.0f} s", seconds);
  if (seconds >= 1) return fmt::format("{:.1f} s", seconds);
  if (seconds >= 0.01) return fmt::format("{:.0f} ms", seconds * 1e3);
  return seconds >= 0.001 ? fmt::format("{:.1f} ms", seconds * 1e3) : "less than 1 ms";
}

std::string to_text(const JobTime& time, const Style& style) {
  if (!time.concerns) return "";
  if (!time.estimate)
    return "\n" +
           fit(fmt::format("How long it takes is not known: {}{}{}\n", printable(time.missing),
                           time.next.empty() ? "" : "; next: ", keep_whole(time.next)),
               style.width);
  const auto& estimate = *time.estimate;
  std::string text = fmt::format("\nHow long it takes on this machine ({}):\n", basis_of(estimate));
  text += row("a step", estimate.step);
  if (!estimate.epoch) return fit(text, style.width);
  text += row(fmt::format("an epoch of {} {}", estimate.steps_per_epoch,
                          estimate.steps_per_epoch == 1 ? "step" : "steps"),
              *estimate.epoch);
  if (estimate.epochs > 1)
    text += row(fmt::format("all {} epochs", estimate.epochs),
                *estimate.epoch * static_cast<double>(estimate.epochs));
  return fit(text, style.width);
}

Json to_json(const JobTime& time, Json& missing) {
  if (!time.estimate) {
    missing["/time"] = time.missing;
    return nullptr;
  }
  const auto& estimate = *time.estimate;
  Json json = {{"step_s", estimate.step.likely},
               {"step_low_s", estimate.step.low},
               {"step_high_s", estimate.step.high},
               {"epoch_s", nullptr},
               {"epoch_low_s", nullptr},
               {"epoch_high_s", nullptr},
               {"steps_per_epoch", nullptr},
               {"epochs", estimate.epochs},
               {"calibrated", estimate.calibrated},
               {"runs", estimate.runs}};
  if (!estimate.epoch) {
    for (const char* key : {"epoch_s", "epoch_low_s", "epoch_high_s", "steps_per_epoch"})
      missing[fmt::format("/time/{}", key)] = time.missing_epoch;
    return json;
  }
  json["epoch_s"] = estimate.epoch->likely;
  json["epoch_low_s"] = estimate.epoch->low;
  json["epoch_high_s"] = estimate.epoch->high;
  json["steps_per_epoch"] = estimate.steps_per_epoch;
  return json;
}

std::string calibration_to_text(const Calibration& calibration, const std::string& path,
                                const Style& style) {
  std::string text =
      fmt::format("headroom's trainer on {}, {} {}:\n", printable(calibration.key.device),
                  calibration.key.threads, calibration.key.threads == 1 ? "thread" : "threads");
  for (const Figure& figure : figures_of(calibration))
    text += fmt::format("  {:<22}{:>10.3g} {:<18} {}\n", figure.name, figure.value, figure.unit,
                        figure.meaning);
  if (calibration.waited_share > worth_saying)
    text += fmt::format(
        "Other programs kept its threads waiting {:.0f} % of the time. That was subtracted, but "
        "what they did to caches and memory was not: calibrate again when they have ended.\n",
        100 * calibration.waited_share);
  text += fmt::format("Saved in {}.\n\n", printable(path)) +
          next_line(next, "says how long a job of [engine] kind = \"headroom\" takes", style);
  return fit(text, style.width);
}

Json calibration_to_json(const Calibration& calibration, const std::string& path) {
  Json steps = Json::array();
  for (const Figure& figure : figures_of(calibration))
    steps.push_back({{"name", figure.name},
                     {"ok", true},
                     {"figure", figure.value},
                     {"unit", figure.unit},
                     {"detail", figure.meaning},
                     {"cause", nullptr}});
  return {{"schema", "headroom.test/1"},
          {"calibration",
           {{"device", calibration.key.device},
            {"engine", calibration.key.engine},
            {"threads", calibration.key.threads},
            {"time", calibration.time},
            {"waited_share", calibration.waited_share},
            {"steps", std::move(steps)},
            {"kept_in", path}}},
          {"next", next}};
}

}  // namespace headroom::report
