// SPDX-License-Identifier: Apache-2.0
#include "estimate/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headroom::estimate {
namespace {

constexpr std::size_t runs_max = 16;
constexpr std::size_t calibrations_max = 16;

// A run of a real job counts as much as so many of the calibration's own steps.
constexpr double weight_of_run = 3;
// Half the width of a range, in logarithms: the least, what it is without any measured step, and
// what it gains where no measured step is nearly as long, for each factor of e.
constexpr double least_width = 0.1;
constexpr double width_without_steps = 0.4;
constexpr double width_of_distance = 0.05;
constexpr double most_width = 1.1;

// Sums of the logarithms of measured over predicted.
struct Weighed {
  double weights = 0;
  double sum = 0;
  double squares = 0;
  double nearest = 1e9;  // The least distance in length, in logarithms.

  void add(const MeasuredStep& step, double rates_s, double weight) {
    const double distance = std::abs(std::log(rates_s / step.rates_s));
    const double ratio = std::log(step.measured_s / step.rates_s);
    weight /= 1 + distance * distance;
    nearest = std::min(nearest, distance);
    weights += weight;
    sum += weight * ratio;
    squares += weight * ratio * ratio;
  }
};

template <class Wanted>
Weighed weigh(const Calibration& calibration, double rates_s, const Wanted& wanted) {
  Weighed weighed;
  for (const MeasuredStep& step : calibration.steps)
    if (wanted(step)) weighed.add(step, rates_s, 1);
  for (const MeasuredStep& run : calibration.runs)
    if (wanted(run)) weighed.add(run, rates_s, weight_of_run);
  return weighed;
}

}  // namespace

std::string difference_of(const CalibrationKey& found, const CalibrationKey& wanted) {
  if (found.device != wanted.device)
    return fmt::format("it was measured on {}, and this is {}", found.device, wanted.device);
  if (found.engine != wanted.engine)
    return fmt::format("it was measured with headroom {}, and this is {}", found.engine,
                       wanted.engine);
  if (found.threads != wanted.threads)
    return fmt::format("it was measured with {} {}, and a run would have {}", found.threads,
                       found.threads == 1 ? "thread" : "threads", wanted.threads);
  return "";
}

void Calibration::add_run(const MeasuredStep& run) {
  if (runs.size() >= runs_max) runs.erase(runs.begin());
  runs.push_back(run);
}

Correction correction_of(const Calibration& calibration, DType dtype, double rates_s) {
  Weighed weighed = weigh(calibration, rates_s,
                          [dtype](const MeasuredStep& step) { return step.dtype == dtype; });
  if (weighed.weights == 0)
    weighed = weigh(calibration, rates_s, [](const MeasuredStep&) { return true; });
  if (weighed.weights == 0)
    return {1, std::exp(-width_without_steps), std::exp(width_without_steps)};
  const double mean = weighed.sum / weighed.weights;
  const double variance = std::max(0.0, weighed.squares / weighed.weights - mean * mean);
  const double width =
      std::min(most_width, std::max(least_width, 2 * std::sqrt(variance)) +
                               width_of_distance * std::max(0.0, weighed.nearest - 1));
  return {std::exp(mean), std::exp(mean - width), std::exp(mean + width)};
}

const Calibration* Calibrations::find(const CalibrationKey& key) const {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [&key](const Calibration& one) { return one.key == key; });
  return found == all_.end() ? nullptr : &*found;
}

void Calibrations::put(Calibration calibration) {
  std::erase_if(all_, [&](const Calibration& one) { return one.key == calibration.key; });
  if (all_.size() >= calibrations_max) all_.erase(all_.begin());
  all_.push_back(std::move(calibration));
}

}  // namespace headroom::estimate
