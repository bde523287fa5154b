// SPDX-License-Identifier: Apache-2.0
#include "trainer/calibration/measure_rates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "machine/clock.h"
#include "machine/processor.h"
#include "trainer/calibration/operations.h"
#include "trainer/calibration/pool.h"

namespace headroom::trainer::calibration {
namespace {

using estimate::DType;
using estimate::Grid;
using estimate::Operation;

// Enough for the operands of the largest call, and more than a cache holds.
constexpr std::int64_t pool_parts = 24;
// How long a call is repeated for one figure. Shorter ones would measure the clock.
constexpr double repeated_s = 0.003;
constexpr std::size_t most_repeats = 4096;
constexpr double longest_s = 1e5;

// The points of a grid in the order of its values.
std::vector<std::array<std::uint64_t, 3>> points_of(const Grid::Axes& axes) {
  std::vector<std::array<std::uint64_t, 3>> points = {{1, 1, 1}};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::vector<std::array<std::uint64_t, 3>> longer;
    for (auto point : points) {
      for (const std::uint64_t size : axes[i]) {
        point[i] = size;
        longer.push_back(point);
      }
    }
    points = std::move(longer);
  }
  return points;
}

// Seconds of one call. A measurement is clean where no thread waited for a processor; how much was
// waited is known only roughly, because what began earlier counts when it ends.
struct Measurement {
  double seconds = longest_s;
  bool clean = false;

  void improve(const Measurement& other) {
    if (other.clean != clean ? other.clean : other.seconds < seconds) *this = other;
  }
};

Measurement repeat_call(const std::function<void()>& call, std::size_t repeats) {
  constexpr double little = 0.02;  // Of the time, for what else a system always does.
  machine::QuietClock clock;
  for (std::size_t i = 0; i < repeats; ++i) call();
  const machine::Stretch stretch = clock.take();
  return {std::max(1e-9, stretch.wall_s / static_cast<double>(repeats)),
          stretch.most_waited_s <= little * stretch.wall_s};
}

Measurement measure_call(const std::function<void()>& call) {
  constexpr int tries = 4;
  call();
  const std::uint64_t start = machine::monotonic_ns();
  call();
  const double once_s = std::max(1e-9, static_cast<double>(machine::monotonic_ns() - start) * 1e-9);
  const auto repeats =
      std::clamp<std::size_t>(static_cast<std::size_t>(repeated_s / once_s), 1, most_repeats);
  Measurement best;
  for (int i = 0; i < tries && !best.clean; ++i) best.improve(repeat_call(call, repeats));
  return best;
}

// Keeps the shortest times of all rounds.
class Sweep {
 public:
  void add_round(DType dtype, const WantsStop& wants_stop) {
    Pool pool(pool_parts, dtype == DType::bf16 ? at::kBFloat16 : at::kFloat);
    for (int i = 0; i <= static_cast<int>(estimate::last_operation); ++i) {
      const auto operation = static_cast<Operation>(i);
      const Grid::Axes axes = axes_of(operation);
      if (axes.empty()) continue;
      pool.refresh();
      const bool by_heads = estimate::size_count(operation) == 2;
      std::vector<Measurement>& best = best_[{operation, dtype}];
      const auto points = points_of(axes);
      best.resize(points.size());
      for (std::size_t point = 0; point < points.size(); ++point) {
        if (wants_stop()) return;
        Measurement measured = measure_call(make_operation(operation, points[point], pool));
        if (by_heads) measured.seconds /= heads_at_once;
        best[point].improve(measured);
      }
    }
  }

  Result<estimate::OperationTimes> take() {
    estimate::OperationTimes rates;
    for (const auto& [what, best] : best_) {
      std::vector<double> times;
      for (const Measurement& measured : best) times.push_back(measured.seconds);
      HEADROOM_TRY(Grid grid, Grid::make(axes_of(what.first), std::move(times)));
      rates.emplace(what, std::move(grid));
    }
    return rates;
  }

 private:
  std::map<std::pair<Operation, DType>, std::vector<Measurement>> best_;
};

}  // namespace

Error stopped() {
  return {Errc::busy, "the calibration was stopped, and nothing of it is kept",
          "headroom test --calibrate"};
}

Result<estimate::OperationTimes> measure_rates(const std::vector<DType>& dtypes,
                                               const RatesBudget& budget,
                                               const WantsStop& wants_stop) {
  Sweep sweep;
  const std::uint64_t start = machine::monotonic_ns();
  for (std::size_t round = 0; round < budget.rounds; ++round) {
    const double passed_s = static_cast<double>(machine::monotonic_ns() - start) * 1e-9;
    // Not without room for another one like those before it.
    if (round > 0 &&
        passed_s * static_cast<double>(round + 1) / static_cast<double>(round) > budget.seconds)
      break;
    for (const DType dtype : dtypes) {
      sweep.add_round(dtype, wants_stop);
      if (wants_stop()) return stopped();
    }
  }
  return sweep.take();
}

}  // namespace headroom::trainer::calibration
