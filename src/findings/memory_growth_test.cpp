// SPDX-License-Identifier: Apache-2.0
#include "findings/memory_growth.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <random>

namespace headroom::findings {
namespace {

using ::testing::HasSubstr;

// Lines of steps 1 to `steps`; `line` makes that of one step.
std::optional<MemoryGrowth> judge(int steps, const std::function<std::string(int)>& line,
                                  const MemorySizes& sizes = {}) {
  logs::MemoryLog log;
  for (int step = 1; step <= steps; ++step) {
    log.add({0, "job.log", "", static_cast<std::uint64_t>(step)}, line(step));
  }
  return find_memory_growth(log, sizes);
}

std::function<std::string(int)> allocated(const std::function<double(int)>& mib) {
  return [mib](int step) { return fmt::format("batch {} allocated: {:.1f} MiB", step, mib(step)); };
}

TEST(MemoryGrowth, live_memory_that_grows_per_batch_is_told_with_its_rate_and_its_end) {
  const auto growth = judge(34, allocated([](int step) { return 13'000 + 38.0 * step; }),
                            {.card = 16_GiB, .host = {}});
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth->kind, GrowthKind::growing_live);
  EXPECT_NEAR(growth->bytes_per_step, 38.0 * 1024 * 1024, 1e6);
  ASSERT_TRUE(growth->reaches_at.has_value());
  EXPECT_NEAR(*growth->reaches_at, (16'384 - 13'000) / 38.0, 2);
  EXPECT_THAT(describe(*growth), HasSubstr("grew by 38.0 MiB per batch from batch 3 to 34"));
  EXPECT_EQ(growth->first_line.line, 1);
  EXPECT_EQ(growth->last_line.line, 34);
}

TEST(MemoryGrowth, noise_neither_hides_nor_makes_growth) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> noise(-150, 150);
    const auto grown =
        judge(60, allocated([&](int step) { return 9'000 + 40.0 * step + noise(random); }));
    ASSERT_TRUE(grown.has_value());
    EXPECT_EQ(grown->kind, GrowthKind::growing_live) << "seed " << seed;
    EXPECT_NEAR(grown->bytes_per_step, 40.0 * 1024 * 1024, 6e6) << "seed " << seed;
    const auto still = judge(60, allocated([&](int) { return 9'000 + noise(random); }));
    ASSERT_TRUE(still.has_value());
    EXPECT_FALSE(still->is_growing()) << "seed " << seed;
  }
}

TEST(MemoryGrowth, few_figures_are_not_judged) {
  EXPECT_FALSE(judge(2, allocated([](int step) { return 1000.0 * step; })).has_value());
  EXPECT_FALSE(judge(5, allocated([](int step) { return 1000.0 * step; })).has_value());
  const auto six = judge(6, allocated([](int step) { return 1000.0 * step; }));
  const auto many = judge(60, allocated([](int step) { return 1000.0 * step; }));
  ASSERT_TRUE(six && many);
  EXPECT_LT(six->sure, 0.6);
  EXPECT_GT(many->sure, six->sure);
}

TEST(MemoryGrowth, a_level_and_the_filling_of_caches_are_none) {
  const auto level = judge(40, allocated([](int step) { return step == 1 ? 9'000 : 14'000; }));
  ASSERT_TRUE(level.has_value());
  EXPECT_EQ(level->kind, GrowthKind::level);
  const auto warm =
      judge(60, allocated([](int step) { return 14'000 - 5'000 * std::exp(-step / 5.0); }));
  ASSERT_TRUE(warm.has_value());
  EXPECT_EQ(warm->kind, GrowthKind::levels_off);
}

TEST(MemoryGrowth, a_sawtooth_and_a_fall_are_none) {
  for (int period = 3; period < 40; ++period) {
    const auto saw =
        judge(120, allocated([=](int step) { return 8'000 + 100.0 * (step % period); }));
    ASSERT_TRUE(saw.has_value());
    EXPECT_FALSE(saw->is_growing()) << "every " << period;
  }
  const auto falls = judge(40, allocated([](int step) { return 14'000 - 50.0 * step; }));
  ASSERT_TRUE(falls.has_value());
  EXPECT_FALSE(falls->is_growing());
}

TEST(MemoryGrowth, of_reserved_memory_above_a_level_is_the_allocators) {
  const auto growth = judge(40, [](int step) {
    return fmt::format("step {} allocated 8.1 GiB reserved {:.2f} GiB", step, 9 + 0.2 * step);
  });
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth->kind, GrowthKind::growing_reserved);
  const auto alone = judge(40, [](int step) {
    return fmt::format("step {} reserved {:.2f} GiB", step, 9 + 0.2 * step);
  });
  ASSERT_TRUE(alone.has_value());
  EXPECT_EQ(alone->kind, GrowthKind::growing);
}

TEST(MemoryGrowth, of_the_host_is_told_as_such) {
  const auto growth =
      judge(40, [](int step) { return fmt::format("step {} rss {} MiB", step, 4000 + 100 * step); },
            {.card = 16_GiB, .host = 12_GiB});
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth->kind, GrowthKind::growing_host);
  EXPECT_EQ(growth->capacity, 12_GiB);
}

TEST(MemoryGrowth, of_one_rank_among_several_is_found) {
  logs::MemoryLog log;
  for (int step = 1; step <= 30; ++step) {
    for (int rank = 0; rank < 4; ++rank) {
      const int mib = rank == 2 ? 8000 + 50 * step : 8000;
      log.add({0, "job.log", "", static_cast<std::uint64_t>(step * 4 + rank)},
              fmt::format("[rank {}] step {} allocated {} MiB", rank, step, mib));
    }
  }
  const auto growth = find_memory_growth(log, {});
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth->kind, GrowthKind::growing_live);
  EXPECT_EQ(growth->device, "rank 2");
}

TEST(MemoryGrowth, in_units_that_change_is_one_series) {
  const auto growth = judge(40, [](int step) {
    const double mb = 900 + 20.0 * step;
    return mb < 1000 ? fmt::format("step {} mem {:.0f} MB", step, mb)
                     : fmt::format("step {} mem {:.3f} GB", step, mb / 1000);
  });
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth->kind, GrowthKind::growing);
  EXPECT_NEAR(growth->bytes_per_step, 20e6, 1e6);
}

TEST(MemoryGrowth, of_the_last_run_counts_after_a_restart) {
  logs::MemoryLog log;
  std::uint64_t line = 0;
  for (int step = 1; step <= 30; ++step) {
    log.add({0, "job.log", "", ++line}, fmt::format("step {} mem {} MiB", step, 5000 + 200 * step));
  }
  for (int step = 1; step <= 30; ++step) {
    log.add({0, "job.log", "", ++line}, fmt::format("step {} mem 5000 MiB", step));
  }
  const auto growth = find_memory_growth(log, {});
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth->kind, GrowthKind::level);
}

TEST(MemoryGrowth, without_steps_is_per_reading) {
  const auto growth = judge(30, [](int step) {
    return fmt::format("GPU[0]\t\t: VRAM Total Used Memory (B): {}",
                       9'000'000'000ULL + 100'000'000ULL * static_cast<unsigned>(step));
  });
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth->kind, GrowthKind::growing);
  EXPECT_EQ(growth->unit, "reading");
}

TEST(MemoryGrowth, that_never_was_is_nothing) {
  EXPECT_FALSE(find_memory_growth(logs::MemoryLog{}, {}).has_value());
  // All at one step.
  EXPECT_FALSE(judge(40, [](int n) { return fmt::format("step 1 mem {} MiB", 1000 + n); }));
}

}  // namespace
}  // namespace headroom::findings
