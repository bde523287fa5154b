// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/planner.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "allocator/places/device_pool.h"
#include "allocator/places/paged_core.h"
#include "allocator/places/plain_core.h"
#include "allocator/plans/testing/planner_player.h"
#include "allocator/plans/testing/scripted_core.h"
#include "allocator/simulated_backend.h"

namespace headroom::allocator {
namespace {

using Random = std::independent_bits_engine<std::mt19937, 32, std::uint32_t>;

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

TEST(Planner, a_job_that_never_misses_gets_no_plan) {
  ScriptedCore core(true);
  Player player(core, {});
  player.load();
  for (int i = 0; i < 10; ++i) player.step();
  EXPECT_GE(player.counts().iterations, 7U);
  EXPECT_EQ(player.counts().plans, 0U);
  EXPECT_FALSE(player.planner().has_plan());
  EXPECT_EQ(player.planner().held_bytes(), 0U);
}

TEST(Planner, after_a_miss_the_next_iteration_has_a_plan_and_the_core_is_not_asked_any_more) {
  ScriptedCore core(true);
  Player player(core, {});
  player.load();
  for (int i = 0; i < 3; ++i) player.step();
  player.step(mib, [&] { core.miss(); });
  player.step();
  ASSERT_EQ(player.counts().plans, 1U);
  player.step();
  core.finds.clear();
  const std::uint64_t planned = player.counts().planned;
  for (int i = 0; i < 5; ++i) player.step();
  EXPECT_TRUE(core.finds.empty());
  EXPECT_EQ(player.counts().planned - planned, 5U * 48U);
  EXPECT_EQ(player.planner().held_bytes(), 33 * mib) << "no more than the step's peak";
}

TEST(Planner, a_core_at_ease_gets_no_plan_until_it_misses_later) {
  ScriptedCore core(true);
  core.at_ease = true;
  Player player(core, {});
  player.load();
  for (int i = 0; i < 5; ++i) player.step(mib, [&] { core.miss(); });
  EXPECT_GE(player.counts().iterations, 3U);
  EXPECT_EQ(core.iterations, player.counts().iterations);
  EXPECT_EQ(player.counts().plans, 0U);
  player.step();
  core.at_ease = false;
  for (int i = 0; i < 3; ++i) player.step();
  EXPECT_EQ(player.counts().plans, 0U) << "what it missed while at ease is forgotten";
  player.step(mib, [&] { core.miss(); });
  player.step();
  EXPECT_EQ(player.counts().plans, 1U);
}

TEST(Planner, where_lengths_vary_the_longest_so_far_is_planned_and_serves_the_shorter) {
  ScriptedCore core(true);
  Player player(core, {});
  player.load();
  Random random(1);
  for (int i = 0; i < 40; ++i) player.step((64 + random() % 64) * 16 * kib, [&] { core.miss(); });
  EXPECT_GE(player.counts().plans, 2U) << "one for each that is longer than all before";
  const std::uint64_t plans = player.counts().plans;
  core.finds.clear();
  player.step(64 * 16 * kib);
  player.step(100 * 16 * kib);
  EXPECT_EQ(player.counts().plans, plans);
  EXPECT_TRUE(core.finds.empty());
}

TEST(Planner, where_lengths_vary_pages_move_for_a_plan_once_twice_as_many_moved_without_it) {
  ScriptedCore core(true);
  core.to_move = 100;
  Player player(core, {});
  player.load();
  std::uint64_t kibs = 1024;
  for (int i = 0; i < 6; ++i) player.step((kibs -= 16) * kib, [&] { core.miss(30); });
  EXPECT_EQ(player.counts().plans, 0U) << "180 pages, and 200 are wanted";
  for (int i = 0; i < 3; ++i) player.step((kibs -= 16) * kib, [&] { core.miss(30); });
  EXPECT_EQ(player.counts().plans, 1U);
}

TEST(Planner, where_steps_repeat_pages_move_for_a_plan_at_once) {
  ScriptedCore core(true);
  core.to_move = 100;
  Player player(core, {});
  player.load();
  for (int i = 0; i < 3; ++i) player.step(mib, [&] { core.miss(1); });
  player.step();
  EXPECT_EQ(player.counts().plans, 1U);
}

TEST(Planner, a_plan_that_gets_no_memory_is_tried_ever_more_rarely) {
  ScriptedCore core(true);
  Player player(core, {});
  player.load();
  for (int i = 0; i < 3; ++i) player.step();
  std::vector<int> tries;
  for (int i = 0; i < 200; ++i) {
    core.finds.clear();
    const std::size_t first = [&] {
      core.refuses = true;
      const auto slot = player.planner().take(3 * mib, 9);
      EXPECT_FALSE(slot.has_value());
      core.refuses = false;
      return core.finds.size();
    }();
    if (first > 0) tries.push_back(i);
    player.step(mib, [&] { core.miss(); });
  }
  EXPECT_EQ(player.counts().plans, 0U);
  ASSERT_GE(tries.size(), 4U);
  EXPECT_LE(tries.size(), 12U);
  for (std::size_t k = 2; k < tries.size(); ++k)
    EXPECT_GT(tries[k] - tries[k - 1], tries[k - 1] - tries[k - 2]);
}

TEST(Planner, a_broken_plan_keeps_every_live_block_at_its_address) {
  ScriptedCore core(true);
  Player player(core, {});
  player.load();
  for (int i = 0; i < 4; ++i) player.step(mib, [&] { core.miss(); });
  player.step();
  ASSERT_TRUE(player.planner().has_plan());
  const std::uint64_t plans = player.counts().plans;
  player.step(mib, [&] { player.break_up(); });
  EXPECT_EQ(player.counts().broken, 1U);
  EXPECT_FALSE(player.planner().has_plan());
  EXPECT_EQ(core.used.size(), 4U) << "only the weights live";
  player.step(mib, [&] { core.miss(); });
  player.step(mib, [&] { core.miss(); });
  player.step();
  EXPECT_EQ(player.counts().plans, plans + 1) << "it is tried again";
}

TEST(Planner, broken_plans_become_rarer) {
  ScriptedCore core(true);
  Player player(core, {});
  player.load();
  for (int i = 0; i < 300; ++i) {
    player.step(mib, [&] {
      core.miss();
      if (player.planner().has_plan()) player.break_up();
    });
  }
  EXPECT_GE(player.counts().broken, 4U);
  EXPECT_LE(player.counts().broken, 12U);
}

// Micro-batches look like iterations until the step is known. What was planned for them goes, and
// all that became of it: the step is planned at once.
TEST(Planner, a_wider_iteration_takes_the_place_of_those_in_it) {
  for (const bool breaks_up_well : {true, false}) {
    ScriptedCore core(breaks_up_well);
    Player player(core, {});
    player.load();
    const auto miss = [&] { core.miss(); };
    const auto step = [&](const std::function<void()>& middle) {
      std::vector<std::size_t> gradients;
      for (int batch = 0; batch < 4; ++batch) {
        player.step(mib, middle);
        for (int i = 0; batch == 0 && i < 8; ++i) gradients.push_back(player.allocate(mib));
      }
      for (int i = 0; i < 20; ++i) player.free(player.allocate(3 * mib));
      for (const std::size_t gradient : gradients) player.free(gradient);
    };
    for (int i = 0; i < 6; ++i) step(miss);
    ASSERT_TRUE(player.planner().has_plan());
    core.finds.clear();
    const PlanCounts before = player.counts();
    for (int i = 0; i < 5; ++i) step({});
    EXPECT_TRUE(core.finds.empty()) << "the optimizer is planned as well";
    EXPECT_EQ(player.counts().planned - before.planned, 5U * (4 * 48 + 8 + 20));
    EXPECT_EQ(player.counts().iterations - before.iterations, 5U);
  }
}

// The work is done when the test says so, as by a thread that is slower than the job.
class LateLayouts {
 public:
  Executor executor() {
    return [this](std::function<void()> work) { queue.push_back(std::move(work)); };
  }
  void do_one() {
    ASSERT_FALSE(queue.empty());
    std::thread worker(queue.front());
    worker.join();
    queue.erase(queue.begin());
  }

  std::vector<std::function<void()>> queue;
};

TEST(Planner, a_layout_that_is_late_is_used_when_it_is_there) {
  ScriptedCore core(true);
  LateLayouts late;
  Player player(core, late.executor());
  player.load();
  for (int i = 0; i < 4; ++i) player.step(mib, [&] { core.miss(); });
  late.do_one();  // Perhaps of what looked like an iteration within the first step.
  for (int i = 0; i < 4; ++i) player.step(mib, [&] { core.miss(); });
  while (!late.queue.empty()) late.do_one();
  player.step();
  player.step();
  ASSERT_GE(player.counts().plans, 1U);
  core.finds.clear();
  player.step();
  EXPECT_TRUE(core.finds.empty());
}

// A job whose every step is of another kind would otherwise queue one layout each.
TEST(Planner, only_one_layout_is_computed_at_a_time) {
  ScriptedCore core(true);
  LateLayouts late;
  Player player(core, late.executor());
  player.load();
  for (std::uint64_t i = 0; i < 40; ++i) {
    player.step((64 + i) * 16 * kib, [&] { core.miss(); });
    ASSERT_LE(late.queue.size(), 1U) << "step " << i;
  }
  EXPECT_EQ(player.counts().plans, 0U);
  late.do_one();  // It is about what is over: the next one.
  for (int i = 0; i < 3; ++i) player.step(2 * mib, [&] { core.miss(); });
  late.do_one();
  for (int i = 0; i < 2; ++i) player.step(2 * mib, [&] { core.miss(); });
  while (!late.queue.empty()) late.do_one();
  player.step(2 * mib);
  player.step(2 * mib);
  ASSERT_GE(player.counts().plans, 1U);
  core.finds.clear();
  player.step(2 * mib);
  EXPECT_TRUE(core.finds.empty());
}

TEST(Planner, work_that_comes_after_the_planners_end_harms_nobody) {
  ScriptedCore core(true);
  std::vector<std::function<void()>> queue;
  {
    Player player(core, [&](std::function<void()> work) { queue.push_back(std::move(work)); });
    player.load();
    for (int i = 0; i < 5; ++i) player.step(mib, [&] { core.miss(); });
  }
  ASSERT_EQ(queue.size(), 1U);
  queue.front()();
}

// The real cores, in as little memory as the job can live in.
class PlannerOnCores : public testing::TestWithParam<bool> {};

TEST_P(PlannerOnCores, once_a_plan_holds_the_device_is_left_alone) {
  const bool virtual_memory = GetParam();
  SimulatedBackend device(94, virtual_memory ? SimulatedBackend::assumed_capabilities()
                                             : SimulatedBackend::without_virtual_memory());
  DevicePool pool(device, 188 * mib);
  std::unique_ptr<Core> core;
  if (virtual_memory)
    core = std::make_unique<PagedCore>(pool, 256 * mib);
  else
    core = std::make_unique<PlainCore>(pool);
  Player player(*core, {});
  player.load();
  // All else is taken, and every second page of it given back: who needs more than one misses.
  std::vector<std::size_t> pages;
  for (int i = 0; i < 90; ++i) pages.push_back(player.allocate(2 * mib));
  for (std::size_t i = 0; i < pages.size(); i += 2) player.free(pages[i]);
  const std::uint64_t unit = mib + mib / 2;
  for (int i = 0; i < 12; ++i) player.step(unit);
  ASSERT_TRUE(player.planner().has_plan());
  const std::uint64_t calls = pool.totals().device_calls;
  for (int i = 0; i < 10; ++i) player.step(unit);
  EXPECT_EQ(pool.totals().device_calls, calls);
  EXPECT_EQ(core->broken_invariant(), "");
  player.step(unit, [&] {
    player.break_up();
    EXPECT_EQ(core->broken_invariant(), "");
  });
  EXPECT_EQ(core->broken_invariant(), "");
}

INSTANTIATE_TEST_SUITE_P(Cores, PlannerOnCores, testing::Bool());

}  // namespace
}  // namespace headroom::allocator
