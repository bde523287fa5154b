// SPDX-License-Identifier: Apache-2.0
#include "tune/search.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace headroom::tune {
namespace {

using Role = TuneSetting::Role;

constexpr std::uint64_t at_once = 4;

Axis axis(const std::string& name, Role role, const std::vector<int>& values) {
  Axis made;
  made.setting.name = name;
  made.setting.role = role;
  for (const int value : values) made.setting.values.push_back(std::to_string(value));
  made.now = 0;
  return made;
}

Space grid(std::vector<Axis> axes) {
  Space space;
  space.axes = std::move(axes);
  Point point(space.axes.size(), 0);
  for (;;) {
    space.points.push_back(point);
    std::size_t i = point.size();
    while (i > 0 && ++point[i - 1] == space.axes[i - 1].setting.values.size()) point[--i] = 0;
    if (i == 0) break;
  }
  space.present = 0;
  return space;
}

// A service whose time for an item is known, for each point.
struct World {
  Space space;
  double cores = 4;
  std::vector<double> ms;
};

// How workers, threads and batches act on services of several kinds: those whose threads share a
// lock, those that split one request between threads, those that gain by batches; with overheads
// for each worker and for more threads than cores.
double time_of(double workers, double threads, double batch, double cores, std::mt19937_64& dice) {
  std::uniform_real_distribution<double> any(0, 1);
  const double serial = 0.15 * any(dice), over = 0.06 * any(dice), fixed = any(dice);
  const bool locks = any(dice) < 0.25;
  const double split = locks ? any(dice) * 0.7 : 0.6 + 0.4 * any(dice);
  const double tail = 0.003 * any(dice);
  const double by_threads = 1 / ((1 - split) + split / threads);
  const double used = std::min(std::min(workers, double(at_once)) * by_threads, cores);
  const double crowd = std::max(0.0, workers * threads / cores - 1);
  return 10 * ((1 + fixed / batch) / used * (1 + serial * (workers - 1) / 8) *
                   (1 + 3 * over * crowd) +
               tail * (batch - 1)) +
         0.05 * over * workers;
}

World make_world(std::uint64_t seed, const std::vector<int>& workers,
                 const std::vector<int>& threads, const std::vector<int>& batches) {
  World world;
  std::mt19937_64 dice(seed);
  world.cores = std::vector<double>{2, 4, 8, 16}[dice() % 4];
  const std::uint64_t kind = dice();
  world.space =
      grid({axis("workers", Role::workers, workers), axis("threads", Role::threads, threads),
            axis("batch", Role::batch, batches)});
  for (const Point& point : world.space.points) {
    std::mt19937_64 of_kind(kind);
    world.ms.push_back(
        time_of(workers[point[0]], threads[point[1]], batches[point[2]], world.cores, of_kind));
  }
  return world;
}

struct Outcome {
  double over_best = 0;  // The true time of what was found, by that of the best.
  std::uint64_t measurements = 0, starts = 0, exhaustive = 0;
};

// Each start of a service differs by 2 %, and each request by 5 %.
Measured measure(const World& world, const Ask& ask, std::mt19937_64& dice) {
  std::normal_distribution<double> noise(0, 1);
  const double start = 1 + 0.02 * noise(dice);
  Measured measured;
  const auto workers = static_cast<std::uint64_t>(
      *world.space.of_role(world.space.points[ask.point], Role::workers));
  std::vector<bool> loaded(workers, false);
  for (std::uint64_t i = 0; i < ask.requests; ++i) {
    // Each worker loads its model by the first request that it gets, whichever that is.
    const std::uint64_t worker = dice() % workers;
    const double load = loaded[worker] && i >= at_once ? 1 : 6;
    loaded[worker] = true;
    measured.requests_ms.push_back(world.ms[ask.point] * double(at_once) * start * load *
                                   (1 + 0.05 * noise(dice)));
  }
  return measured;
}

Outcome search(const World& world, std::uint64_t repeat, std::uint64_t seed) {
  std::mt19937_64 dice(seed);
  Search it(world.space, {repeat, at_once, world.cores, {}});
  it.tell_present(measure(world, {0, repeat + at_once, at_once}, dice));
  while (const auto ask = it.next()) it.tell(measure(world, *ask, dice));
  const double best = *std::min_element(world.ms.begin(), world.ms.end());
  return {world.ms[*it.best()] / best, it.measurements(), it.starts(), it.exhaustive()};
}

class SearchSimulation : public testing::TestWithParam<std::uint64_t> {
 protected:
  void simulate(const std::vector<int>& workers, const std::vector<int>& threads,
                const std::vector<int>& batches) {
    constexpr std::uint64_t seeds = 200;
    const std::uint64_t repeat = GetParam();
    std::uint64_t good = 0, starts = 0;
    double worst = 1;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      const World world = make_world(seed, workers, threads, batches);
      const Outcome outcome = search(world, repeat, seed + 1000);
      ASSERT_LE(outcome.measurements, outcome.exhaustive / 10) << "seed " << seed;
      if (outcome.over_best <= 1.1) ++good;
      worst = std::max(worst, outcome.over_best);
      starts += outcome.starts;
    }
    RecordProperty("good_of_200", int(good));
    fmt::print(
        "{} points, {} requests each: {} of {} within 10 %, the worst {:.2f}, {:.1f} starts\n",
        workers.size() * threads.size() * batches.size(), repeat, good, seeds, worst,
        double(starts) / seeds);
    EXPECT_GE(good, seeds * 95 / 100);
  }
};

TEST_P(SearchSimulation, of_40_points_the_found_one_is_within_a_tenth_of_the_best) {
  simulate({1, 2, 4, 8, 16}, {1, 2, 4, 8}, {1, 4});
}
TEST_P(SearchSimulation, of_48_points_the_found_one_is_within_a_tenth_of_the_best) {
  simulate({1, 2, 4, 8}, {1, 2, 4, 8}, {1, 2, 4});
}
TEST_P(SearchSimulation, of_64_points_the_found_one_is_within_a_tenth_of_the_best) {
  simulate({1, 2, 4, 8}, {1, 2, 4, 8}, {1, 2, 4, 8});
}
TEST_P(SearchSimulation, of_144_points_the_found_one_is_within_a_tenth_of_the_best) {
  simulate({1, 2, 3, 4, 6, 8}, {1, 2, 3, 4, 6, 8}, {1, 2, 4, 8});
}
INSTANTIATE_TEST_SUITE_P(Requests, SearchSimulation, testing::Values(20, 40));

// A search of one world, with answers that `change` may spoil.
struct Searched {
  std::vector<std::size_t> asked;
  std::vector<Tried> tried;
  std::optional<std::size_t> best;
  std::uint64_t requests = 0;
};

Searched search_all(const Space& space, const SearchOrder& order, bool present_passes,
                    const std::function<Measured(const Ask&)>& answer) {
  Search it(space, order);
  Measured present = answer({0, order.repeat, 0});
  if (!present_passes) present.end = Measured::End::failed;
  it.tell_present(present);
  Searched done;
  while (const auto ask = it.next()) {
    done.asked.push_back(ask->point);
    it.tell(answer(*ask));
  }
  done.tried = it.tried();
  done.best = it.best();
  done.requests = it.requests();
  return done;
}

Measured steady(double ms, const Ask& ask) {
  Measured measured;
  measured.requests_ms.assign(ask.requests, ms * double(at_once));
  return measured;
}

TEST(Search, what_fails_is_never_the_best_and_is_told_with_its_cause) {
  const Space space = grid({axis("workers", Role::workers, {1, 2, 4, 8})});
  const Searched it = search_all(space, {20, at_once, 8, {}}, true, [](const Ask& ask) {
    Measured measured = steady(10.0 / double(ask.point + 1), ask);
    if (ask.point == 3) measured = {Measured::End::failed, {}, {}, "crash-loop"};
    return measured;
  });
  ASSERT_TRUE(it.best);
  EXPECT_EQ(*it.best, 2U);
  EXPECT_EQ(it.tried.back().why, "crash-loop");
  EXPECT_FALSE(it.tried.back().ms);
}

TEST(Search, one_that_passed_once_and_failed_later_is_out) {
  const Space space = grid({axis("workers", Role::workers, {1, 2})});
  int times = 0;
  const Searched it = search_all(space, {20, at_once, 2, {}}, true, [&](const Ask& ask) {
    if (ask.point == 1 && ++times > 1) return Measured{Measured::End::failed, {}, {}, "hang"};
    return steady(ask.point == 1 ? 5 : 10, ask);
  });
  EXPECT_EQ(times, 2);
  EXPECT_EQ(*it.best, 0U);
}

TEST(Search, nothing_that_takes_more_than_what_took_too_much_is_tried) {
  const Space space =
      grid({axis("workers", Role::workers, {1, 2, 4, 8}), axis("batch", Role::batch, {1, 8})});
  std::vector<std::size_t> failed;
  const Searched it = search_all(space, {20, at_once, 8, {}}, true, [&](const Ask& ask) {
    const Point& point = space.points[ask.point];
    for (const std::size_t one : failed) {
      const Point& less = space.points[one];
      EXPECT_TRUE(point[0] < less[0] || point[1] < less[1]) << ask.point << " after " << one;
    }
    if (point[0] < 2) return steady(10.0 / double(ask.point + 1), ask);
    failed.push_back(ask.point);
    return Measured{Measured::End::memory, {}, {}, "memory-growth"};
  });
  EXPECT_FALSE(failed.empty());
  EXPECT_LT(space.points[*it.best][0], 2U);
}

TEST(Search, more_workers_than_the_memory_holds_are_not_even_started) {
  const Space space = grid({axis("workers", Role::workers, {1, 2, 4, 8, 16})});
  const Searched it = search_all(space, {20, at_once, 16, Bytes{5000}}, true, [&](const Ask& ask) {
    Measured measured = steady(16.0 / std::pow(2, double(ask.point)), ask);
    measured.peak = Bytes{1000 * (std::uint64_t{1} << ask.point)};
    return measured;
  });
  for (const std::size_t point : it.asked) EXPECT_LE(point, 2U);
  EXPECT_EQ(*it.best, 2U);
}

// A fixed part that all workers share does not keep the search from what fits.
TEST(Search, what_a_worker_takes_is_learned_from_two_counts) {
  const Space space = grid({axis("workers", Role::workers, {1, 2, 4})});
  const Searched it = search_all(space, {20, at_once, 16, Bytes{2500}}, true, [&](const Ask& ask) {
    Measured measured = steady(16.0 / std::pow(2, double(ask.point)), ask);
    measured.peak = Bytes{900 + 100 * (std::uint64_t{1} << ask.point)};
    return measured;
  });
  EXPECT_EQ(*it.best, 2U);
}

TEST(Search, where_nothing_passes_there_is_no_best) {
  const Space space = grid({axis("workers", Role::workers, {1, 2, 4})});
  const Searched it = search_all(space, {20, at_once, 4, {}}, false, [](const Ask&) {
    return Measured{Measured::End::failed, {}, {}, "hang"};
  });
  EXPECT_FALSE(it.best);
  EXPECT_LE(it.asked.size(), 3U);
}

TEST(Search, a_small_grid_is_tried_once_and_the_better_half_again) {
  const Space space = grid({axis("workers", Role::workers, {1, 2, 4, 8})});
  const Searched it = search_all(space, {20, at_once, 8, {}}, true, [](const Ask& ask) {
    return steady(10.0 / double(ask.point + 1), ask);
  });
  EXPECT_LE(it.asked.size(), 5U);
  EXPECT_LT(it.requests, 4U * 20);
}

}  // namespace
}  // namespace headroom::tune
