// SPDX-License-Identifier: Apache-2.0
#include "tune/measure.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/trend.h"

namespace headroom::tune {
namespace {

// A request that took so many times the median waited for something that is not always there.
constexpr double slow_by_load = 2.5;

}  // namespace

std::uint64_t warm_up_of(const Space& space, const Point& point, std::uint64_t at_once) {
  constexpr double most = 64;
  const double workers =
      std::max(space.of_role(point, TuneSetting::Role::workers).value_or(1), 1.0);
  return std::max(at_once, static_cast<std::uint64_t>(
                               std::min(static_cast<double>(at_once) + 2 * (workers - 1), most)));
}

std::optional<double> item_ms(const std::vector<double>& requests_ms, std::uint64_t at_once,
                              std::uint64_t warm_up) {
  const std::vector<double> counted = counted_of(requests_ms, warm_up);
  if (counted.empty() || at_once == 0) return std::nullopt;
  const double sum = std::accumulate(counted.begin(), counted.end(), 0.0);
  return sum / static_cast<double>(counted.size()) / static_cast<double>(at_once);
}

std::vector<double> counted_of(const std::vector<double>& requests_ms, std::uint64_t warm_up) {
  const std::size_t begin = std::min<std::size_t>(warm_up, requests_ms.size() / 2);
  std::vector<double> counted(requests_ms.begin() + static_cast<std::ptrdiff_t>(begin),
                              requests_ms.end());
  if (counted.empty()) return counted;
  const double limit = slow_by_load * median(counted);
  std::size_t left_out = counted.size() / 4;
  std::erase_if(counted, [&](double ms) { return ms > limit && left_out > 0 && left_out-- > 0; });
  return counted;
}

double noise_of(const std::vector<double>& counted) {
  constexpr double least = 0.02, most = 0.3;
  if (counted.empty()) return most;
  const auto size = static_cast<double>(counted.size());
  const double mean = std::accumulate(counted.begin(), counted.end(), 0.0) / size;
  double squares = 0;
  for (const double ms : counted) squares += (ms - mean) * (ms - mean);
  return std::clamp(std::sqrt(squares / size) / mean, least, most);
}

}  // namespace headroom::tune
