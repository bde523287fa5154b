// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads over one mapping, so that the thread sanitizer sees every access to it.
// One leaves and comes back beside others at work. Ranks that are processes are killed at random.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "averager/averager.h"
#include "averager/job.h"
#include "averager/kills.h"

namespace headroom::averager::testing {
namespace {

constexpr std::uint64_t elements = 50'000;

// Averages with two buckets in flight, one copied and one in the segment. Returns how many were
// right.
std::uint64_t average(Averager& averager, std::uint64_t from, std::uint64_t rounds) {
  const auto memory = averager.allocate(elements * sizeof(float));
  if (!memory) return 0;
  std::vector<float> own(elements);
  const std::array data = {own.data(), reinterpret_cast<float*>(*memory)};
  std::uint64_t right = 0;
  for (std::uint64_t round = from; round < from + rounds; ++round) {
    std::array<Averager::Ticket, 2> tickets = {};
    for (std::size_t one = 0; one < 2; ++one) {
      fill(data.at(one), elements, averager.rank(), 2 * round + one);
      const auto ticket = averager.start({.data = reinterpret_cast<std::byte*>(data.at(one)),
                                          .elements = elements,
                                          .in_pieces = round % 2 == 0});
      if (!ticket) return right;
      tickets.at(one) = *ticket;
    }
    for (std::size_t one = 0; one < 2; ++one) {
      const auto outcome = averager.wait(tickets.at(one));
      if (outcome && is_average(data.at(one), elements, outcome->present, 2 * round + one)) ++right;
    }
  }
  EXPECT_TRUE(averager.free(*memory));
  return right;
}

Options thread_options(std::uint32_t rank, bool background,
                       const std::shared_ptr<SharedMapping>& mapping) {
  auto options = options_of("threads", 3, rank);
  options.terms.chunk_bytes = 16384;  // So small that a bucket has several pieces.
  options.background = background;
  options.mapping = mapping;
  return options;
}

void expect_threads_right(bool background) {
  constexpr std::uint64_t rounds = 25;
  const auto mapping = std::make_shared<SharedMapping>();
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([rank, background, &mapping] {
      const auto averager = Averager::open(thread_options(rank, background, mapping));
      ASSERT_TRUE(averager) << averager.error().message;
      EXPECT_EQ(average(**averager, 0, rounds), 2 * rounds);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(is_left_behind("threads"));
}

TEST(AveragerStress, threads_over_one_mapping_average_rightly) {
  expect_threads_right(false);
}

TEST(AveragerStress, threads_with_workers_of_their_own_average_rightly) {
  expect_threads_right(true);
}

// Rank 2 leaves and comes back while the others go from step to step until it has done so often.
TEST(AveragerStress, a_rank_leaves_and_comes_back_beside_threads_at_work) {
  constexpr int times = 4;
  const auto mapping = std::make_shared<SharedMapping>();
  std::atomic<bool> ends = false;
  const auto works = [&](std::uint32_t rank) {
    const auto averager = Averager::open(thread_options(rank, false, mapping));
    ASSERT_TRUE(averager) << averager.error().message;
    std::uint64_t bucket = 0;
    auto state = Request{.kind = Kind::broadcast, .data = nullptr, .elements = 1};
    float ends_now = 0;
    state.data = reinterpret_cast<std::byte*>(&ends_now);
    while (ends_now == 0) {
      std::vector<float> data(elements);
      fill(data.data(), elements, rank, bucket);
      const auto ticket = (*averager)->start(
          {.data = reinterpret_cast<std::byte*>(data.data()), .elements = elements});
      ASSERT_TRUE(ticket);
      const auto outcome = (*averager)->wait(*ticket);
      ASSERT_TRUE(outcome);
      EXPECT_TRUE(is_average(data.data(), elements, outcome->present, bucket));
      ends_now = ends.load() ? 1.0F : 0.0F;
      // All end at the same bucket: when rank 0 says so.
      const auto told = (*averager)->start(state);
      ASSERT_TRUE(told);
      ASSERT_TRUE((*averager)->wait(*told));
      const auto step = (*averager)->start({.kind = Kind::step});
      ASSERT_TRUE(step);
      ASSERT_TRUE((*averager)->wait(*step));
    }
  };
  std::thread first([&] { works(0); });
  std::thread second([&] { works(1); });
  std::uint32_t came_back = 0;
  for (int time = 0; time <= times; ++time) {
    const auto averager = Averager::open(thread_options(2, false, mapping));
    ASSERT_TRUE(averager) << averager.error().message;
    if ((*averager)->has_come_back()) ++came_back;
  }
  EXPECT_EQ(came_back, times);
  ends.store(true);
  first.join();
  second.join();
  EXPECT_FALSE(is_left_behind("threads"));
}

TEST(AveragerStress, ranks_killed_or_stopped_at_random_moments_leave_the_others_right) {
  const Kills kills = run_kills({.count = 24, .seed = 5});
  EXPECT_EQ(kills.tried, 24U);
  EXPECT_EQ(kills.hung, 0U);
  EXPECT_EQ(kills.wrong, 0U);
  EXPECT_EQ(kills.left_behind, 0U);
}

}  // namespace
}  // namespace headroom::averager::testing
