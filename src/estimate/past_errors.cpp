// SPDX-License-Identifier: Apache-2.0
#include "estimate/past_errors.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "estimate/past_causes.h"

namespace headroom::estimate {
namespace {

constexpr std::size_t most_runs = 50;
constexpr std::size_t systematic_from_runs = 3;
constexpr double systematic_from = 0.01;

// How far apart two planned sizes are, as a ratio; the largest where one is not known.
double distance(const PastRun& a, const PastRun& b) {
  const auto x = static_cast<double>(a.predicted.allocated_bytes.value_or(0));
  const auto y = static_cast<double>(b.predicted.allocated_bytes.value_or(0));
  return x > 0 && y > 0 ? std::abs(std::log(x / y)) : HUGE_VAL;
}

std::optional<PredictionError> error_of(Measure measure, const std::vector<const PastRun*>& runs) {
  std::vector<double> errors;
  for (const PastRun* run : runs) {
    const auto pair = amounts_of(*run, measure);
    if (pair && pair->measured > 0) errors.push_back(pair->predicted / pair->measured - 1);
  }
  if (errors.empty()) return std::nullopt;
  PredictionError error{measure, errors.size(), median(errors), 0, false};
  const auto farther = [](double a, double b) { return std::abs(a) < std::abs(b); };
  error.worst = *std::max_element(errors.begin(), errors.end(), farther);
  const auto below = [](double e) { return e < 0; };
  const auto above = [](double e) { return e > 0; };
  const bool one_sign = std::all_of(errors.begin(), errors.end(), below) ||
                        std::all_of(errors.begin(), errors.end(), above);
  error.systematic =
      errors.size() >= systematic_from_runs && one_sign && std::abs(error.median) > systematic_from;
  return error;
}

}  // namespace

std::string_view to_string(Measure measure) {
  switch (measure) {
    case Measure::allocated:
      return "allocated";
    case Measure::reserved:
      return "reserved";
    case Measure::device:
      return "device";
  }
  return "allocated";
}

std::vector<PastRun> find_such_runs(std::vector<PastRun> runs, const PastRun& planned) {
  std::erase_if(runs, [&planned](const PastRun& run) {
    return run.engine != planned.engine || run.family != planned.family ||
           run.method != planned.method;
  });
  const auto nearer = [&planned](const PastRun& a, const PastRun& b) {
    const auto rank = [&planned](const PastRun& run) {
      return std::tuple(run.architecture != planned.architecture, run.device != planned.device,
                        distance(run, planned));
    };
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return a.time > b.time;
  };
  std::stable_sort(runs.begin(), runs.end(), nearer);
  return runs;
}

PastErrors find_past_errors(const std::vector<PastRun>& such, const PastRun& planned) {
  PastErrors past;
  std::vector<const PastRun*> measured;
  std::vector<const PastRun*> on_device;
  for (std::size_t i = 0; i < std::min(such.size(), most_runs); ++i) {
    const PastRun& run = such[i];
    ++past.runs;
    if (run.architecture == planned.architecture) ++past.same_model;
    if (run.outcome == Outcome::out_of_memory) {
      ++past.out_of_memory;  // What it reached until then is no peak.
      continue;
    }
    measured.push_back(&run);
    if (run.device == planned.device) on_device.push_back(&run);
  }
  for (const Measure measure : {Measure::allocated, Measure::reserved, Measure::device}) {
    const auto& runs = measure == Measure::device ? on_device : measured;
    const auto error = error_of(measure, runs);
    if (!error) continue;
    past.errors.push_back(*error);
    if (!error->systematic) continue;
    if (const auto cause = find_cause(measure, runs)) past.causes.push_back(*cause);
  }
  return past;
}

}  // namespace headroom::estimate
