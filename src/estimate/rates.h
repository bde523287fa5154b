// SPDX-License-Identifier: Apache-2.0
// What one operation takes, measured at the points of a grid of sizes and interpolated between
// them: a power law between neighbours, so small products may be slower per multiplication than
// large ones, and what fits the cache faster than what does not. Beyond the largest size the time
// grows with the size; below the smallest it stays.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "estimate/work.h"

namespace headroom::estimate {

class Grid {
 public:
  using Axes = std::vector<std::vector<std::uint64_t>>;

  // `seconds`: one for each point, the last axis varying fastest. A larger size never takes less:
  // where it was measured so, it was noise, and the longer time of the smaller size stands. Fails
  // where axes do not rise, are empty or more than three, or a time is not a positive number.
  static Result<Grid> make(Axes axes, std::vector<double> seconds);

  // Sizes beyond the number of axes are ignored. Never falls where a size grows.
  double seconds(const std::array<std::uint64_t, 3>& size) const;

  const Axes& axes() const { return axes_; }
  const std::vector<double>& values() const { return seconds_; }

 private:
  Grid(Axes axes, std::vector<double> seconds)
      : axes_(std::move(axes)), seconds_(std::move(seconds)) {}
  void make_monotone();

  Axes axes_;
  std::vector<double> seconds_;
};

using OperationTimes = std::map<std::pair<Operation, DType>, Grid>;

// What all calls take, one after the other. Fails, with the operation, where one was not measured.
Result<double> seconds_of(const Work& work, const OperationTimes& rates);

}  // namespace headroom::estimate
