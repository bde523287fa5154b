// SPDX-License-Identifier: Apache-2.0
// soak-speed: the same product at the beginning of a load and at its end, and what of the clocks,
// temperatures and limits in between explains it if the second takes longer.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "proof/soak_parts.h"

namespace headroom::proof {
namespace {

using findings::look;
using findings::sentence;

// Cards lose some percent when they get warm: boost clocks are for cold ones.
constexpr double least_change = -20;  // Percent of speed.
constexpr double hundred = 100;

// Nothing where there are none.
std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Of what lies within a piece of the load.
struct Piece {
  double begin, end;
  bool holds(double at) const { return at >= begin && at <= end; }
};

std::optional<double> seconds_in(const SoakRecord& record, const Piece& piece) {
  std::vector<double> values;
  for (const SoakPoint& point : record.points) {
    if (piece.holds(point.at_s)) values.push_back(point.seconds);
  }
  return median(std::move(values));
}

// Sensors change within a second with the load, so that of clocks the highest tells, and of
// temperatures too.
std::optional<double> highest_in(const SoakRecord& record, const Piece& piece,
                                 std::optional<std::uint64_t> SoakSample::*value) {
  std::optional<double> highest;
  for (const SoakSample& sample : record.samples) {
    if (!piece.holds(sample.at_s) || !(sample.*value)) continue;
    highest = std::max(highest.value_or(0), static_cast<double>(*(sample.*value)));
  }
  return highest;
}

struct Change {
  std::optional<double> first, last;
  bool is_known() const { return first && last; }
};

struct Changes {
  Change megahertz, degrees, watts;
};

Changes changes_of(const SoakRecord& record, const Piece& first, const Piece& last) {
  const auto change = [&](std::optional<std::uint64_t> SoakSample::*value, double unit) {
    Change found{highest_in(record, first, value), highest_in(record, last, value)};
    if (found.first) *found.first /= unit;
    if (found.last) *found.last /= unit;
    return found;
  };
  constexpr double mega = 1e6, milli = 1e3, micro = 1e6;
  Changes changes{change(&SoakSample::core_hertz, mega), change(&SoakSample::junction, milli),
                  change(&SoakSample::power_microwatts, micro)};
  if (!changes.degrees.is_known()) changes.degrees = change(&SoakSample::edge, milli);
  return changes;
}

std::string describe(const Changes& changes) {
  std::vector<std::string> said;
  const auto add = [&said](const Change& change, const char* unit) {
    if (change.is_known())
      said.push_back(fmt::format("{:.0f} to {:.0f} {}", *change.first, *change.last, unit));
  };
  add(changes.megahertz, "MHz");
  add(changes.degrees, "°C");
  add(changes.watts, "W");
  return join(said, ", ");
}

// Why it slowed down, as far as the driver tells.
std::string reason_of(const SoakRecord& record, const Changes& changes) {
  const auto held = [&record](bool facts::Throttling::*by) {
    return any_sample(record.samples, [by](const facts::Throttling& now) { return now.*by; });
  };
  if (held(&facts::Throttling::temperature)) return "the GPU slows down because it is too hot";
  if (held(&facts::Throttling::power) || held(&facts::Throttling::current))
    return "the GPU slows down at its power limit";
  constexpr double fell = 0.9, rise = 10;
  const bool is_clock =
      changes.megahertz.is_known() && *changes.megahertz.last < fell * *changes.megahertz.first;
  const bool is_warmer =
      changes.degrees.is_known() && *changes.degrees.last > *changes.degrees.first + rise;
  if (is_clock && is_warmer) return "the GPU's clocks fall as it gets warm";
  if (is_clock) return "the GPU's clocks fall under load";
  return changes.megahertz.is_known() ? "the GPU slows down at the same clocks"
                                      : "the GPU slows down over time";
}

}  // namespace

SoakSample make_sample(double at_s, const facts::GpuStrain& strain) {
  const facts::GpuSensors& sensors = strain.sensors;
  return {at_s,
          sensors.edge_millicelsius.optional(),
          sensors.junction_millicelsius.optional(),
          sensors.memory_millicelsius.optional(),
          sensors.power_microwatts.optional(),
          sensors.core_hertz.optional(),
          strain.throttling.optional()};
}

StepResult judge_soak_speed(const SoakRecord& record) {
  constexpr const char* name = "soak-speed";
  const double window = soak_window_s(record.whole_s);
  const double end = record.points.empty() ? 0 : record.points.back().at_s;
  const Piece first{0, window}, last{std::max(window, end - window), end};
  const auto before = seconds_in(record, first), after = seconds_in(record, last);
  if (!before || !after || *before <= 0 || *after <= 0)
    return skipped_step(name, "the load did not last long enough to compare its two ends");
  StepResult result = passed_step(name);
  const double change = hundred * (*before / *after - 1);
  result.figure = change;
  result.unit = "%";
  result.detail =
      fmt::format("of speed from the first {0:.0f} s to the last: {1:.3g} to {2:.3g} ms a product",
                  window, 1000 * *before, 1000 * *after);
  const Changes changes = changes_of(record, first, last);
  if (const std::string said = describe(changes); !said.empty()) result.detail += "; " + said;
  if (!record.on_gpu) {
    result.detail += "; other programs share the processor, so it is not judged";
    return result;
  }
  if (change >= least_change) return result;
  const std::string reason = reason_of(record, changes);
  fail_step(result, "slower", 0.8, reason.c_str());
  result.cause->fix = {
      look("watch -n1 rocm-smi --showtemp --showclocks --showpower", "(while a job runs)"),
      sentence(
          "Heat: cooler, air path and fan curve. Power: the card's cables and its power limit. "
          "Neither: end what else uses the GPU, and test again.")};
  return result;
}

}  // namespace headroom::proof
