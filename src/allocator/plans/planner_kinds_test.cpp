// SPDX-License-Identifier: Apache-2.0
// Jobs whose iterations are of several kinds.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "allocator/plans/planner.h"
#include "allocator/plans/testing/planner_player.h"
#include "allocator/plans/testing/scripted_core.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

TEST(PlannerKinds, without_virtual_memory_only_what_has_the_same_shape_again_is_planned) {
  ScriptedCore core(false);
  Player player(core, {});
  player.load();
  for (int i = 0; i < 30; ++i) {  // Never the same twice in a row.
    const auto other = [&] {
      core.miss();
      for (int k = 0; k < 5 + i * 7 % 11; ++k) player.free(player.allocate(5 * mib));
    };
    player.step((64 + static_cast<std::uint64_t>(i) * 37 % 64) * 16 * kib, other);
  }
  EXPECT_EQ(player.counts().plans, 0U);
  for (std::uint64_t i = 0; i < 8; ++i) player.step((70 + i) * 16 * kib, [&] { core.miss(); });
  EXPECT_GE(player.counts().plans, 1U);
}

TEST(PlannerKinds,
     a_plan_that_nothing_lives_in_can_be_given_up_during_an_iteration_of_no_known_kind) {
  ScriptedCore core(false);
  Player player(core, {});
  player.load();
  for (int i = 0; i < 10; ++i) player.step(mib, [&] { core.miss(); });
  ASSERT_TRUE(player.planner().has_plan());
  EXPECT_FALSE(player.planner().is_unused()) << "the next may be as planned";
  const std::size_t other = player.allocate(24 * mib);
  ASSERT_TRUE(player.planner().is_unused());
  player.planner().drop_unused();
  EXPECT_FALSE(player.planner().has_plan());
  EXPECT_EQ(core.used.size(), 5U) << "the weights and the new block";
  player.free(other);
  for (int i = 0; i < 3; ++i) player.step(mib, [&] { core.miss(); });
  EXPECT_TRUE(player.planner().has_plan()) << "the kind is known: it is taken up again";
}

// A loss would fit where something else was planned, and nothing could be done with the piece then.
TEST(PlannerKinds, what_a_job_keeps_of_an_iteration_lies_outside_the_piece) {
  ScriptedCore core(false);
  Player player(core, {});
  player.load();
  const auto pass = [&] { player.free(player.allocate(8 * kib)); };
  for (int i = 0; i < 5; ++i) {
    player.step(mib, [&] {
      core.miss();
      pass();
    });
  }
  ASSERT_TRUE(player.planner().has_plan());
  const std::uint64_t planned = player.counts().planned;
  player.step(mib, [&] {
    player.allocate(512);
    pass();
  });
  EXPECT_GE(player.counts().planned, planned + 47);
  ASSERT_TRUE(player.planner().has_plan());
  EXPECT_TRUE(player.planner().break_up().empty()) << "what lives in it";
}

// Batches of other proportions: a plan for the largest of everything would take more memory than
// any of them.
TEST(PlannerKinds, each_kind_of_iteration_has_a_plan_of_its_own_in_the_same_memory) {
  for (const bool breaks_up_well : {true, false}) {
    ScriptedCore core(breaks_up_well);
    Player player(core, {});
    player.load();
    const auto step = [&](int kind, bool misses) {
      std::vector<std::size_t> live;
      for (int i = 0; i < 20; ++i) live.push_back(player.allocate((i % 2 == kind ? 6 : 2) * mib));
      if (misses) core.miss();
      while (!live.empty()) {
        player.free(live.back());
        live.pop_back();
      }
    };
    for (int i = 0; i < 32; ++i) step(i / 2 % 2, true);
    ASSERT_TRUE(player.planner().has_plan());
    EXPECT_EQ(player.planner().held_bytes(), 80 * mib) << "as much as either needs";
    core.finds.clear();
    const std::uint64_t planned = player.counts().planned;
    for (int i = 0; i < 10; ++i) step(i / 2 % 2, false);
    EXPECT_TRUE(core.finds.empty());
    EXPECT_EQ(player.counts().planned - planned, 200U);
  }
}

// When what a step keeps has grown, no level is returned to, and the finder sees no border.
TEST(PlannerKinds, an_iteration_is_recognised_by_how_it_begins_where_its_border_was_not) {
  ScriptedCore core(true);
  Player player(core, {});
  player.load();
  for (int i = 0; i < 12; ++i) player.step(mib, [&] { core.miss(); });
  ASSERT_TRUE(player.planner().has_plan());
  player.allocate(24 * mib);
  player.allocate(24 * mib);
  core.finds.clear();
  player.step();
  EXPECT_TRUE(core.finds.empty());
}

// An evaluation comes again, but never twice in a row.
TEST(PlannerKinds, without_virtual_memory_a_kind_that_comes_again_after_others_is_planned) {
  ScriptedCore core(false);
  Player player(core, {});
  player.load();
  const auto evaluate = [&] {
    for (int i = 0; i < 3; ++i) player.step(2 * mib);
    std::vector<std::size_t> live;
    for (int i = 0; i < 70; ++i) live.push_back(player.allocate(3 * mib));
    core.miss();
    while (!live.empty()) {
      player.free(live.back());
      live.pop_back();
    }
  };
  const auto round = [&](const std::function<void()>& middle) {
    for (int i = 0; i < 5; ++i) player.step(2 * mib, middle);
    evaluate();
  };
  for (int i = 0; i < 3; ++i) round([&] { core.miss(); });
  core.finds.clear();
  const std::uint64_t planned = player.counts().planned;
  round({});
  round({});
  EXPECT_GE(player.counts().planned - planned, 2U * 70) << "the evaluations are planned as well";
}

TEST(PlannerKinds, a_job_that_goes_on_without_misses_gets_no_plan) {
  ScriptedCore core(true);
  Player player(core, {});
  player.load();
  core.to_move = 100;
  player.step(mib, [&] { core.miss(8); });
  std::uint64_t unit = 70 * 16 * kib;
  const auto other_step = [&] { player.step(unit += 32 * kib); };
  for (int i = 0; i < 24; ++i) other_step();
  ASSERT_FALSE(player.planner().has_plan()) << "more pages would move than repairs moved";
  core.to_move = 0;
  for (int i = 0; i < 4; ++i) other_step();
  EXPECT_FALSE(player.planner().has_plan()) << "the miss was long ago";
  player.step(unit, [&] { core.miss(8); });
  for (int i = 0; i < 2; ++i) other_step();
  EXPECT_TRUE(player.planner().has_plan());
}

}  // namespace
}  // namespace headroom::allocator
