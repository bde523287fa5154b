// SPDX-License-Identifier: Apache-2.0
// The averager's protocol in every interleaving of small shapes, and the same with drivers that do
// what the protocol rules out: the explorer has to find those.
#include "averager/explorer.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace headroom::averager::testing {
namespace {

using Break = Shape::Break;

constexpr std::uint64_t most_states = 50'000'000;

void expect_kept(const Shape& shape) {
  const Explored found = explore(shape, most_states);
  EXPECT_FALSE(found.broken.has_value()) << *found.broken;
  EXPECT_GT(found.ends, 0U);
  ::testing::Test::RecordProperty("states", static_cast<int>(found.states));
}

void expect_broken(Shape shape, Break broken, const std::string& how) {
  shape.broken = broken;
  const Explored found = explore(shape, most_states);
  ASSERT_TRUE(found.broken.has_value());
  EXPECT_NE(found.broken->find(how), std::string::npos) << *found.broken;
}

TEST(AveragerProtocol, without_a_death_two_ranks_finish_with_the_same_result) {
  expect_kept({.chunks = 2, .buckets = 3});
}

TEST(AveragerProtocol, buckets_in_flight_do_not_disturb_each_other) {
  expect_kept({.chunks = 2, .buckets = 3, .in_flight = 2});
}

TEST(AveragerProtocol, a_death_at_any_point_leaves_the_other_with_a_right_result) {
  expect_kept({.chunks = 2, .buckets = 3, .deaths = 1});
  expect_kept({.chunks = 2, .buckets = 3, .in_flight = 2, .deaths = 1});
}

TEST(AveragerProtocol, a_rank_that_comes_back_is_admitted_and_disturbs_nobody) {
  expect_kept({.chunks = 1, .buckets = 3, .deaths = 1, .restarts = 1});
}

TEST(AveragerProtocol, a_rank_that_comes_back_is_admitted_only_at_the_border_of_a_step) {
  expect_kept({.chunks = 1, .buckets = 4, .deaths = 1, .restarts = 1, .admits_every = 2});
}

TEST(AveragerProtocol, three_ranks_survive_a_death) {
  expect_kept({.ranks = 3, .chunks = 1, .buckets = 1, .deaths = 1});
}

TEST(AveragerProtocol, three_ranks_survive_two_deaths_and_take_over_twice) {
  expect_kept({.ranks = 3, .chunks = 1, .buckets = 1, .deaths = 2});
}

TEST(AveragerProtocol, larger_shapes_keep_every_promise) {
  if (std::getenv("HEADROOM_TEST_ALL") == nullptr)
    GTEST_SKIP() << "HEADROOM_TEST_ALL is not set; it takes some minutes";
  expect_kept({.ranks = 3, .chunks = 2, .buckets = 1, .deaths = 1});
  expect_kept({.ranks = 3, .chunks = 1, .buckets = 2, .deaths = 1});
  expect_kept({.chunks = 2, .buckets = 4, .in_flight = 2, .deaths = 1, .restarts = 1});
}

TEST(AveragerProtocol, a_chunk_called_done_before_it_is_pushed_is_found) {
  expect_broken({}, Break::done_before_push, "wrong result");
}

TEST(AveragerProtocol, sums_over_the_inputs_without_a_scratch_are_found) {
  expect_broken({.deaths = 1}, Break::no_scratch, "wrong result");
}

TEST(AveragerProtocol, a_rank_taken_for_dead_that_still_runs_is_found) {
  expect_broken({.deaths = 1}, Break::declared_dead, "expelled");
}

TEST(AveragerProtocol, a_bell_that_nobody_rings_is_found) {
  expect_broken({}, Break::silent, "a hang");
}

}  // namespace
}  // namespace headroom::averager::testing
