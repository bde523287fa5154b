// SPDX-License-Identifier: Apache-2.0
// What became of tuning a service: the value that is printed as text and as JSON
// (docs/schema/tune.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/deployer.h"
#include "findings/step.h"
#include "tune/search.h"
#include "tune/space.h"
#include "tune/worth.h"

namespace headroom::tune {

enum class Outcome : std::uint8_t {
  planned,      // Nothing was touched; what would be tried is said.
  deployed,     // The fastest setting is in force.
  kept,         // The present setting stays: nothing was faster by more than the noise.
  refused,      // Nothing was touched, for `cause`.
  interrupted,  // Somebody ended it; the old configuration is back.
  failed,       // The old configuration is back where `restored`, and `why` says what went wrong.
};

// The service before and after, measured by the whole smoke test.
struct Baseline {
  std::optional<double> ms;        // For each item (item_ms()), before.
  std::optional<double> again_ms;  // After all trials, with the same configuration.
  // How far the two lie apart, as a part of the time; never less than what one start differs by.
  double noise() const;
  // The mean of those that are known.
  std::optional<double> mean_ms() const;
};

struct TuneReport {
  std::string name;
  Outcome outcome = Outcome::planned;
  std::optional<findings::Cause> cause;
  std::string why;  // Where there is no cause.
  Space space;
  std::uint64_t repeat = 0, at_once = 0;
  std::uint64_t most_requests = 0, most_measurements = 0, most_starts = 0;
  std::uint64_t requests = 0, measurements = 0, starts = 0;
  std::uint64_t exhaustive = 0;  // The measurements that every combination would take.
  std::size_t too_large = 0;
  std::optional<Bytes> memory;  // The most that it may take.
  Baseline baseline;
  std::vector<Tried> tried;  // Fastest first, the present one included.
  std::optional<std::size_t>
      best;  // Of the space's points; nothing: none passed, or none was tried.
  std::vector<deploy::FileChange> changes;  // That make it so; empty: it is in force already.
  std::optional<double> seconds;            // All trials together.
  std::optional<bool> restored;             // Nothing: there was nothing to put back.
  std::optional<deploy::DeployReport> deployed;
  std::optional<Worth> worth;
  std::string why_no_worth;
  std::vector<std::string> warnings;
  std::vector<findings::Step> left, next;

  // What the best one takes; nothing without one.
  std::optional<double> best_ms() const;
};

// Whether the best one is faster than the present one by more than the noise.
bool is_faster(const TuneReport& report);

std::string_view to_string(Outcome outcome);

}  // namespace headroom::tune
