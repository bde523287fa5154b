// SPDX-License-Identifier: Apache-2.0
#include "supervisor/growth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace headroom::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr Bytes limit = 64_GiB;
constexpr double gib = 1024.0 * 1024 * 1024;

using Memory = std::function<double(double s)>;  // GiB after so many seconds.

// What a watch says of a memory in the course of time: the first growth and when it was said.
struct Told {
  std::optional<Growth> growth;
  Time when{0};
};

Told watch(const Memory& memory, Time until, Time every = 5s) {
  GrowthWatch watched(limit);
  Time asked{0};
  for (Time now{0}; now <= until; now += every) {
    const double used = memory(static_cast<double>(now.count()) / 1000);
    watched.add(Bytes{static_cast<std::uint64_t>(std::max(0.0, used) * gib)}, now);
    if (now - asked < 1min) continue;
    asked = now;
    if (const auto growth = watched.growth(now)) return {growth, now};
  }
  return {};
}

class Jitter {
 public:
  Jitter(std::uint64_t seed, double width) : random_(seed), width_(width) {}
  double operator()() { return std::uniform_real_distribution<double>(-width_, width_)(random_); }

 private:
  std::mt19937_64 random_;
  double width_;
};

TEST(Growth, a_steady_leak_is_seen_in_time_and_its_end_predicted) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    // From twenty minutes to three weeks until the limit.
    const double hours = std::pow(10.0, std::uniform_real_distribution<double>(-0.5, 2.7)(random));
    const double start = std::uniform_real_distribution<double>(1, 40)(random);
    const double rate = (64 - start) / (hours * 3600);
    Jitter jitter(seed, 0.2);
    const auto every = Time{std::max<Time::rep>(5000, static_cast<Time::rep>(hours * 60) * 5)};
    const Told told = watch([&](double s) { return start + rate * s + jitter(); },
                            Time{static_cast<Time::rep>(hours * 3600 * 1000)}, every);
    ASSERT_TRUE(told.growth.has_value()) << "seed " << seed << ", " << hours << " h";
    const double end_s = hours * 3600;
    const double told_s = static_cast<double>(told.when.count()) / 1000;
    const double predicted_s = static_cast<double>(told.growth->reaches_limit.count()) / 1000;
    EXPECT_LT(told_s, end_s * 0.6) << "seed " << seed << ", " << hours << " h";
    EXPECT_NEAR(predicted_s - told_s, end_s - told_s, 0.35 * (end_s - told_s))
        << "seed " << seed << ", " << hours << " h";
  }
}

TEST(Growth, what_levels_off_below_the_limit_does_not_grow) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    const double level = std::uniform_real_distribution<double>(5, 45)(random);
    const double minutes = std::uniform_real_distribution<double>(1, 120)(random);
    Jitter jitter(seed, 0.1);
    const Told told = watch(
        [&](double s) { return level * (1 - std::exp(-s / (minutes * 60))) + jitter(); }, 12h, 10s);
    EXPECT_FALSE(told.growth.has_value())
        << "seed " << seed << ", to " << level << " GiB in " << minutes << " min, told after "
        << told.when.count() / 1000 << " s";
  }
}

TEST(Growth, noise_around_a_level_is_no_growth_even_close_to_the_limit) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Jitter jitter(seed, 1.5);
    EXPECT_FALSE(watch([&](double) { return 62 + jitter(); }, 6h).growth.has_value()) << seed;
  }
}

TEST(Growth, a_sawtooth_below_the_limit_is_none_after_its_first_tooth) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    const double period = std::uniform_real_distribution<double>(30, 3600)(random);
    const double height = std::uniform_real_distribution<double>(5, 40)(random);
    Jitter jitter(seed, 0.1);
    // It begins at its highest, as if a tooth had passed.
    const Told told = watch(
        [&](double s) {
          const double phase = std::fmod(s + period * 0.999, period) / period;
          return 20 + height * phase + jitter();
        },
        12h, 10s);
    EXPECT_FALSE(told.growth.has_value()) << "seed " << seed << ", every " << period << " s";
  }
}

TEST(Growth, a_file_that_is_loaded_in_a_minute_is_no_growth) {
  const auto loads = [](double s) { return s < 60 ? s : 60.0; };
  EXPECT_FALSE(watch(loads, 6h).growth.has_value());
  // In four pieces, with pauses between them.
  const auto steps = [](double s) { return 12.0 * std::min(4.0, std::floor(s / 20)); };
  EXPECT_FALSE(watch(steps, 6h).growth.has_value());
}

TEST(Growth, a_leak_that_begins_after_days_is_seen_within_a_third_of_its_time) {
  const double begins = 4 * 86400;
  const Told told = watch([&](double s) { return s < begins ? 10 : 10 + (s - begins) * 54 / 7200; },
                          Time{4 * 24h + 2h});
  ASSERT_TRUE(told.growth.has_value());
  EXPECT_LT(told.when, Time{4 * 24h + 50min});
  EXPECT_NEAR(static_cast<double>(told.growth->reaches_limit.count()), (begins + 7200) * 1000,
              20 * 60'000);
}

TEST(Growth, a_leak_under_a_sawtooth_is_seen) {
  const Told told = watch([](double s) { return 5 + s * 40 / 86400 + 8 * std::fmod(s, 600) / 600; },
                          Time{24h}, 10s);
  ASSERT_TRUE(told.growth.has_value());
  EXPECT_LT(told.when, Time{18h});
}

TEST(Growth, nothing_is_said_of_little) {
  GrowthWatch watched(limit);
  EXPECT_FALSE(watched.growth(0s).has_value());
  for (int i = 0; i < 20; ++i)
    watched.add(Bytes{static_cast<std::uint64_t>(i) << 31U}, Time{i * 100});
  EXPECT_FALSE(watched.growth(2s).has_value());
}

TEST(Growth, a_short_watch_judges_seconds) {
  GrowthWatch watched(1_GiB, Time{2400});
  std::optional<Growth> growth;
  for (int ms = 0; ms <= 4000; ms += 100) {
    watched.add(Bytes{(std::uint64_t{100} << 20U) + static_cast<std::uint64_t>(ms) * 100'000},
                Time{ms});
    if (!growth) growth = watched.growth(Time{ms});
  }
  ASSERT_TRUE(growth.has_value());
  EXPECT_NEAR(growth->bytes_per_s, 1e8, 1e7);
}

TEST(Growth, memory_beyond_the_limit_has_reached_it) {
  GrowthWatch watched(1_GiB, Time{2400});
  for (int ms = 0; ms <= 4000; ms += 100) {
    watched.add(Bytes{static_cast<std::uint64_t>(ms) * 1'000'000}, Time{ms});
  }
  ASSERT_TRUE(watched.growth(Time{4000}).has_value());
  EXPECT_EQ(watched.growth(Time{4000})->reaches_limit, Time{4000});
}

}  // namespace
}  // namespace headroom::supervisor
