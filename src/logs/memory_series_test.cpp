// SPDX-License-Identifier: Apache-2.0
#include "logs/memory_series.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "logs/log_reader.h"

namespace headroom::logs {
namespace {

// Each string is a line.
MemoryLog gather(const std::vector<std::string>& lines) {
  MemoryLog log;
  std::uint64_t number = 0;
  for (const std::string& line : lines) log.add({0, "job.log", "", ++number}, line);
  return log;
}

TEST(MemorySeries, follow_the_steps) {
  const MemoryLog log = gather({"step 10 mem 5 GiB", "step 20 mem 6 GiB", "step 30 mem 7 GiB"});
  ASSERT_EQ(log.all().size(), 1U);
  const MemorySeries& series = log.all().front();
  EXPECT_EQ(series.unit, "step");
  EXPECT_EQ(series.count, 3U);
  ASSERT_EQ(series.points.size(), 3U);
  EXPECT_EQ(series.points[1].at, 20);
  EXPECT_EQ(series.first.line, 1U);
  EXPECT_EQ(series.last.line, 3U);
}

TEST(MemorySeries, of_a_next_epoch_go_on) {
  const MemoryLog log =
      gather({"batch 1 mem 5 GiB", "batch 2 mem 6 GiB", "batch 1 mem 7 GiB", "batch 2 mem 8 GiB"});
  ASSERT_EQ(log.all().size(), 1U);
  ASSERT_EQ(log.all()[0].points.size(), 4U);
  EXPECT_GT(log.all()[0].points[2].at, log.all()[0].points[1].at);
}

TEST(MemorySeries, of_a_restarted_program_begin_anew) {
  const MemoryLog log =
      gather({"step 1 mem 5 GiB", "step 2 mem 9 GiB", "step 1 mem 5 GiB", "step 2 mem 9 GiB"});
  ASSERT_EQ(log.all().size(), 2U);
  EXPECT_EQ(log.all()[1].count, 2U);
}

TEST(MemorySeries, of_several_devices_and_kinds_are_kept_apart) {
  const MemoryLog log = gather({"step 1 cuda:0 allocated 5 GiB reserved 6 GiB",
                                "step 1 cuda:1 allocated 7 GiB reserved 8 GiB"});
  EXPECT_EQ(log.all().size(), 4U);
}

TEST(MemorySeries, of_any_length_are_bounded_and_cover_the_whole_run) {
  MemoryLog log;
  constexpr std::uint64_t steps = 200'000;
  for (std::uint64_t i = 0; i < steps; ++i) {
    log.add({0, "job.log", "", i + 1}, fmt::format("step {} mem {} MiB", i, 1000 + i));
  }
  ASSERT_EQ(log.all().size(), 1U);
  const MemorySeries& series = log.all().front();
  EXPECT_LE(series.points.size(), MemorySeries::most_points);
  EXPECT_GE(series.points.size(), MemorySeries::most_points / 2);
  EXPECT_EQ(series.count, steps);
  EXPECT_LT(series.points.front().at, 5000);
  EXPECT_GT(series.points.back().at, 195'000);
  for (std::size_t i = 1; i < series.points.size(); ++i) {
    EXPECT_GT(series.points[i].at, series.points[i - 1].at);
  }
}

TEST(MemorySeries, of_endless_labels_are_bounded) {
  MemoryLog log;
  for (int i = 0; i < 1000; ++i) {
    std::string label;
    for (int n = i; n > 0; n /= 26) label += static_cast<char>('a' + n % 26);
    log.add({0, "job.log", "", 1}, label + " mem 5 GiB");
  }
  EXPECT_LE(log.all().size(), MemoryLog::most_series);
}

TEST(MemorySeries, are_gathered_by_the_reader_also_from_a_bar_that_overwrites_itself) {
  const auto signatures = knowledge::load_signatures();
  ASSERT_TRUE(signatures.has_value());
  const auto matcher = Matcher::make(*signatures);
  ASSERT_TRUE(matcher.has_value());
  Observations observations;
  LogReader reader(*matcher, observations, 0);
  for (int i = 1; i <= 40; ++i) {
    reader.feed(fmt::format("\r{}%|##   | {}/100 [00:12<00:10, 1.2it/s, mem=1{:02}0MB]", i, i, i));
  }
  reader.feed("\n[    2.745570] amdgpu: Allocated 3969056 bytes on gart\n");
  reader.finish();
  ASSERT_EQ(observations.memory().all().size(), 1U);
  const MemorySeries& series = observations.memory().all().front();
  EXPECT_EQ(series.count, 40U);
  EXPECT_EQ(series.unit, "iteration");
}

}  // namespace
}  // namespace headroom::logs
