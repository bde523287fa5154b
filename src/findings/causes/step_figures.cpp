// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/step_figures.h"

#include <cstdlib>
#include <string>

namespace headroom::findings {

const logs::Observation* steady_at_steps(const logs::Observations& log) {
  constexpr std::size_t least = 4;
  constexpr double still_the_same = 1.05;
  const auto steps = log.of("memory-at-step");
  if (steps.size() < least) return nullptr;
  const auto figure = [](const logs::Observation* one) {
    return std::strtod(std::string(one->value("reserved")).c_str(), nullptr);
  };
  // What comes first is warming up.
  const double first = figure(steps[1]);
  for (std::size_t i = 2; i < steps.size(); ++i) {
    if (figure(steps[i]) > first * still_the_same) return nullptr;
  }
  return steps.back();
}

}  // namespace headroom::findings
