// SPDX-License-Identifier: Apache-2.0
#include "estimate/past_causes.h"

#include <algorithm>
#include <cmath>

#include "base/require.h"

namespace headroom::estimate {
namespace {

constexpr double most_of_it = 0.5;

// A series that stays within this of its middle does not change; one that spans more than that
// ratio does.
constexpr double steady_within = 0.2;
constexpr double varies_from_ratio = 1.3;

std::uint64_t to_bytes(double amount) {
  return amount > 0 ? static_cast<std::uint64_t>(std::llround(amount)) : 0;
}

double spread(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double middle = std::abs(median(values));
  return middle > 0 ? (*high - *low) / middle : HUGE_VAL;
}

bool varies(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *low > 0 && *high / *low >= varies_from_ratio;
}

// The amounts of one thing over several runs.
struct Series {
  std::vector<double> predicted;
  std::vector<double> measured;

  void add(const Amounts& amounts) {
    predicted.push_back(amounts.predicted);
    measured.push_back(amounts.measured);
  }
  std::vector<double> differences() const {
    std::vector<double> all;
    for (std::size_t i = 0; i < predicted.size(); ++i) all.push_back(predicted[i] - measured[i]);
    return all;
  }
  // Of the part's difference to the whole's, run by run.
  std::vector<double> shares_of(const Series& whole) const {
    const auto part = differences();
    const auto all = whole.differences();
    std::vector<double> shares;
    for (std::size_t i = 0; i < part.size(); ++i)
      shares.push_back(all[i] == 0 ? 0 : part[i] / all[i]);
    return shares;
  }
};

ErrorCause cause_of(ErrorCause::Part part, const Series& series) {
  ErrorCause cause;
  cause.part = part;
  cause.predicted_bytes = to_bytes(median(series.predicted));
  cause.measured_bytes = to_bytes(median(series.measured));
  return cause;
}

Series allocated_of(const std::vector<const PastRun*>& runs) {
  Series series;
  for (const PastRun* run : runs) {
    if (const auto amounts = amounts_of(*run, Measure::allocated)) series.add(*amounts);
  }
  return series;
}

// Which measured component has most of the difference.
ErrorCause by_measured_components(const std::vector<const PastRun*>& runs) {
  const Series whole = allocated_of(runs);
  ErrorCause best = cause_of(ErrorCause::Part::spread, whole);
  best.was_measured = true;
  double best_share = most_of_it;
  for (const Component component : allocator::all_components) {
    Series series;
    for (const PastRun* run : runs)
      series.add({static_cast<double>((*run->predicted.components)[component]),
                  static_cast<double>((*run->measured.components)[component])});
    const double share = median(series.shares_of(whole));
    if (share < best_share) continue;
    best_share = share;
    best = cause_of(ErrorCause::Part::component, series);
    best.component = component;
    best.was_measured = true;
  }
  return best;
}

// The component that the difference is in proportion to, or none of them but a constant. Told only
// where the component changes from run to run, and the ratio to it does not.
ErrorCause by_what_it_follows(const std::vector<const PastRun*>& runs) {
  const Series whole = allocated_of(runs);
  const std::vector<double> differences = whole.differences();
  ErrorCause best = cause_of(ErrorCause::Part::unknown, whole);
  double best_spread = steady_within;
  if (varies(whole.predicted) && spread(differences) <= best_spread) {
    best_spread = spread(differences);
    best.part = ErrorCause::Part::fixed_amount;
  }
  for (const Component component : allocator::all_components) {
    std::vector<double> amounts;
    std::vector<double> ratios;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto& planned = runs[i]->predicted.components;
      amounts.push_back(planned ? static_cast<double>((*planned)[component]) : 0);
      ratios.push_back(amounts.back() > 0 ? differences[i] / amounts.back() : HUGE_VAL);
    }
    if (!varies(amounts) || spread(ratios) >= best_spread) continue;
    best_spread = spread(ratios);
    best.part = ErrorCause::Part::component;
    best.component = component;
    best.predicted_bytes = to_bytes(median(amounts));
    best.measured_bytes = to_bytes(median(amounts) * (1 - median(ratios)));
  }
  return best;
}

// What one measure has beyond the one below it, where that is most of the difference.
std::optional<ErrorCause> by_what_is_beyond(Measure measure, Measure below, ErrorCause::Part part,
                                            const std::vector<const PastRun*>& runs) {
  Series whole;
  Series beyond;
  for (const PastRun* run : runs) {
    const auto outer = amounts_of(*run, measure);
    const auto inner = amounts_of(*run, below);
    if (!outer || !inner) continue;
    whole.add(*outer);
    beyond.add({outer->predicted - inner->predicted, outer->measured - inner->measured});
  }
  if (whole.predicted.empty() || median(beyond.shares_of(whole)) < most_of_it) return std::nullopt;
  return cause_of(part, beyond);
}

std::optional<ErrorCause> cause_within(Measure measure, const std::vector<const PastRun*>& runs) {
  if (measure == Measure::device)
    return by_what_is_beyond(measure, Measure::reserved, ErrorCause::Part::context, runs);
  if (measure == Measure::reserved)
    return by_what_is_beyond(measure, Measure::allocated, ErrorCause::Part::allocator, runs);
  const bool by_component = std::all_of(runs.begin(), runs.end(), [](const PastRun* run) {
    return run->predicted.components && run->measured.components;
  });
  return by_component ? by_measured_components(runs) : by_what_it_follows(runs);
}

}  // namespace

std::optional<Amounts> amounts_of(const PastRun& run, Measure measure) {
  const auto of = [measure](const MemoryPeak& peak) {
    if (measure == Measure::allocated) return peak.allocated_bytes;
    return measure == Measure::reserved ? peak.reserved_bytes : peak.device_bytes;
  };
  const auto predicted = of(run.predicted);
  const auto measured = of(run.measured);
  if (!predicted || !measured) return std::nullopt;
  return Amounts{static_cast<double>(*predicted), static_cast<double>(*measured)};
}

double median(std::vector<double> values) {
  require(!values.empty(), "a median is of one value at least");
  const std::size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle),
                   values.end());
  const double upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  return (*std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle)) +
          upper) /
         2;
}

std::optional<ErrorCause> find_cause(Measure measure, const std::vector<const PastRun*>& runs) {
  std::vector<const PastRun*> known;
  for (const PastRun* run : runs) {
    if (amounts_of(*run, measure)) known.push_back(run);
  }
  auto cause = cause_within(measure, known);
  if (cause) cause->of = measure;
  return cause;
}

}  // namespace headroom::estimate
