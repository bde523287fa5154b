// SPDX-License-Identifier: Apache-2.0
// What a change predicted, held against what the reboot brought: the limits rung by rung, the
// module parameters, and where they differ the reason, as far as the machine's own settings show
// it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "facts/what_if.h"
#include "plan/change.h"

namespace headroom::plan {

// The limits of the APUs, which are what these settings reach, and the parameters that bring them.
Forecast make_forecast(const facts::Prediction& prediction,
                       std::vector<std::pair<std::string, std::string>> parameters);

enum class Outcome {
  as_predicted,
  differs,
  not_known,  // Nothing differs, but not everything that matters could be read.
};

struct RungDifference {
  std::string gpu;
  std::string rung;
  Bytes expected;
  std::optional<Bytes> found;  // nullopt: it could not be read, or the GPU is not there.
};

struct ParameterDifference {
  std::string name;
  std::string expected;
  std::string found;
};

struct Comparison {
  Outcome outcome = Outcome::not_known;
  std::vector<RungDifference> rungs;  // Those that differ, or are gone.
  std::vector<ParameterDifference> parameters;
  std::vector<std::string> reasons;  // Why, the surest first; sentences.
  std::vector<std::string> unread;   // What could not be read, and why; sentences.
};

// The rungs that an option sets exactly ("ttm", "gtt", "pool", "kfd-ttm" where pages_limit is among
// the parameters) must be equal, as far as their sources count (debugfs: in MiB); those that follow
// from the RAM may differ by what MemTotal may (facts::ram_tolerance_parts; a carve-out that was
// changed shows in the "vram" rung). One that depends on what was free when the driver loaded, by
// the forecast or by what the machine shows now, is only held against the forecast's bound.
Comparison compare(const Forecast& forecast, const facts::Facts& now);

std::string_view to_string(Outcome outcome);

}  // namespace headroom::plan
