// SPDX-License-Identifier: Apache-2.0
#include "estimate/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace headroom::estimate {
namespace {

// Where a size lies on an axis: between `low` and `low + 1`, by the logarithms of sizes.
struct Position {
  std::size_t low = 0;
  double share = 0;   // 0: at low; 1: at low + 1.
  double beyond = 1;  // How many times the largest size it is.
};

Position position_on(const std::vector<std::uint64_t>& axis, std::uint64_t size) {
  if (size <= axis.front()) return {};
  if (size >= axis.back())
    return {axis.size() - 1, 0, static_cast<double>(size) / static_cast<double>(axis.back())};
  const auto above = std::upper_bound(axis.begin(), axis.end(), size);
  const auto high = static_cast<double>(*above);
  const auto low = static_cast<double>(*(above - 1));
  return {static_cast<std::size_t>(above - axis.begin()) - 1,
          std::log(static_cast<double>(size) / low) / std::log(high / low), 1};
}

Error wrong_grid(const char* expected) {
  return {Errc::invalid, fmt::format("a grid of times: expected {}, found another one", expected),
          ""};
}

constexpr std::size_t axes_max = 3;
constexpr std::size_t points_max = 4096;
constexpr double longest_s = 1e6;

}  // namespace

Result<Grid> Grid::make(Axes axes, std::vector<double> seconds) {
  if (axes.empty() || axes.size() > axes_max) return wrong_grid("one to three axes");
  std::size_t points = 1;
  for (const auto& axis : axes) {
    if (axis.empty() || axis.size() > points_max || axis.front() == 0 ||
        std::adjacent_find(axis.begin(), axis.end(), std::greater_equal<>()) != axis.end())
      return wrong_grid("axes that rise");
    points *= axis.size();
    if (points > points_max) return wrong_grid("fewer points");
  }
  const bool good = std::all_of(seconds.begin(), seconds.end(),
                                [](double time) { return time > 0 && time < longest_s; });
  if (seconds.size() != points || !good) return wrong_grid("a time above 0 for every point");
  Grid grid(std::move(axes), std::move(seconds));
  grid.make_monotone();
  return grid;
}

void Grid::make_monotone() {
  std::size_t stride = seconds_.size();
  for (const auto& axis : axes_) {
    stride /= axis.size();
    for (std::size_t i = 0; i < seconds_.size(); ++i) {
      if (i / stride % axis.size() == 0) continue;
      seconds_[i] = std::max(seconds_[i], seconds_[i - stride]);
    }
  }
}

double Grid::seconds(const std::array<std::uint64_t, 3>& size) const {
  std::array<Position, axes_max> at;
  double beyond = 1;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    at[i] = position_on(axes_[i], size[i]);
    beyond *= at[i].beyond;
  }
  double logarithm = 0;  // Of the product of the corners' times, each by its weight.
  for (std::size_t corner = 0; corner < (std::size_t{1} << axes_.size()); ++corner) {
    double weight = 1;
    std::size_t index = 0;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const std::size_t up = corner >> i & 1U;
      weight *= up == 1 ? at[i].share : 1 - at[i].share;
      index = index * axes_[i].size() + std::min(at[i].low + up, axes_[i].size() - 1);
    }
    if (weight > 0) logarithm += weight * std::log(seconds_[index]);
  }
  return std::exp(logarithm) * beyond;
}

Result<double> seconds_of(const Work& work, const OperationTimes& rates) {
  double total = 0;
  for (const auto& [call, times] : work.calls()) {
    const auto grid = rates.find({call.operation, call.dtype});
    if (grid == rates.end())
      return Error{Errc::unsupported,
                   fmt::format("{} in {} is not measured by a calibration",
                               to_string(call.operation), to_string(call.dtype)),
                   ""};
    total += times * grid->second.seconds(call.size);
  }
  return total;
}

}  // namespace headroom::estimate
