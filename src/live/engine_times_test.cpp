// SPDX-License-Identifier: Apache-2.0
#include "live/engine_times.h"

#include <gtest/gtest.h>

#include "live/moment.h"

namespace headroom::live {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t second_ns = 1'000'000'000;

TEST(EngineTimes, first_look_says_nothing) {
  EngineTimes times;
  EXPECT_TRUE(times.look({{7, {{"0000:03:00.0", 1, second_ns}}}}, seconds(5)).empty());
}

TEST(EngineTimes, clients_of_a_process_add_up) {
  EngineTimes times;
  times.look({{7, {{"0000:03:00.0", 1, 0}, {"0000:03:00.0", 2, 0}}}}, seconds(5));
  const auto shares = times.look(
      {{7, {{"0000:03:00.0", 1, second_ns}, {"0000:03:00.0", 2, second_ns / 2}}}}, seconds(7));
  EXPECT_DOUBLE_EQ(shares.at(7).at("0000:03:00.0"), 0.75);
}

TEST(EngineTimes, a_counter_that_goes_back_is_another_clients) {
  EngineTimes times;
  times.look({{7, {{"0000:03:00.0", 1, second_ns}}}}, seconds(5));
  EXPECT_TRUE(times.look({{7, {{"0000:03:00.0", 1, 0}}}}, seconds(7)).empty());
}

TEST(RunCounts, an_out_of_memory_is_counted_as_one) {
  supervisor::PastCommand completed, died, ran_out;
  died.exit.code = 134;
  ran_out.exit.code = 1;
  ran_out.out_of_memory = true;
  const RunCounts counts = count_runs({completed, died, ran_out, ran_out});
  EXPECT_EQ(counts.completed, 1U);
  EXPECT_EQ(counts.failed, 1U);
  EXPECT_EQ(counts.out_of_memory, 2U);
}

}  // namespace
}  // namespace headroom::live
