// SPDX-License-Identifier: Apache-2.0
#include "cli/early_answer.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace headroom::cli {
namespace {

using Time = EarlyAnswer::Time;
using Look = EarlyAnswer::Look;

struct Event {
  Time at{0};
  std::uint64_t bytes = 0;
  Look look;  // What is seen from then on.
};

// When the answer is given, if it is before `end`, trying every 10 ms.
std::optional<Time> answered(const std::vector<Event>& events, Time end) {
  EarlyAnswer early(Time{0});
  Look seen;
  std::size_t next = 0;
  for (Time now{0}; now < end; now += Time{10}) {
    for (; next < events.size() && events[next].at <= now; ++next) {
      early.add_data(now, events[next].bytes);
      seen = events[next].look;
    }
    if (early.is_time_to_look(now) && early.is_clear(now, seen)) return now;
  }
  return std::nullopt;
}

const Look clear{"disk-full", 0.95, 1};

TEST(EarlyAnswer, clear_cause_is_told_soon_after_the_stream_pauses) {
  const auto at = answered({{Time{0}, 100, {}}, {Time{1000}, 100, clear}}, Time{60000});
  ASSERT_TRUE(at);
  EXPECT_GE(*at, Time{2500});
  EXPECT_LE(*at, Time{4000});
}

TEST(EarlyAnswer, new_failures_put_it_off) {
  std::vector<Event> events;
  for (std::uint64_t i = 1; i <= 4; ++i) {
    events.push_back({Time{static_cast<int>(i) * 1000}, 100, {"disk-full", 0.95, i}});
  }
  const auto at = answered(events, Time{60000});
  ASSERT_TRUE(at);
  EXPECT_GE(*at, Time{5500});
  EXPECT_LE(*at, Time{7000});
}

TEST(EarlyAnswer, job_that_fails_for_ever_is_answered_nevertheless) {
  std::vector<Event> events;
  for (std::uint64_t i = 1; i <= 600; ++i) {
    events.push_back({Time{static_cast<int>(i) * 100}, 100, {"disk-full", 0.95, i}});
  }
  const auto at = answered(events, Time{60000});
  ASSERT_TRUE(at);
  EXPECT_GE(*at, Time{10000});
  EXPECT_LE(*at, Time{13000});
}

TEST(EarlyAnswer, lines_that_tell_of_no_failure_do_not_put_it_off) {
  std::vector<Event> events;
  for (int i = 1; i <= 600; ++i) events.push_back({Time{i * 100}, 100, clear});
  const auto at = answered(events, Time{60000});
  ASSERT_TRUE(at);
  EXPECT_LE(*at, Time{4500});
}

TEST(EarlyAnswer, another_answer_begins_anew) {
  const auto at = answered(
      {{Time{0}, 100, clear}, {Time{1000}, 100, {"gpu-hang", 0.9, 1}}, {Time{2000}, 100, clear}},
      Time{60000});
  ASSERT_TRUE(at);
  EXPECT_GE(*at, Time{3500});
}

TEST(EarlyAnswer, what_is_not_sure_or_no_cause_is_never_told_early) {
  for (const Look& look : {Look{"disk-full", 0.79, 1}, Look{"none", 0.95, 0},
                           Look{"insufficient-evidence", 0.95, 3}}) {
    EXPECT_FALSE(answered({{Time{0}, 100, look}}, Time{60000})) << look.cause;
  }
}

TEST(EarlyAnswer, old_log_that_is_read_out_is_read_to_its_end) {
  std::vector<Event> events;
  for (int i = 1; i <= 3000; ++i) events.push_back({Time{i * 10}, 100000, clear});
  const auto at = answered(events, Time{60000});
  ASSERT_TRUE(at);
  EXPECT_GE(*at, Time{31500});
}

TEST(EarlyAnswer, silence_is_not_looked_at) {
  const EarlyAnswer early(Time{0});
  EXPECT_FALSE(early.is_time_to_look(Time{100000}));
  EXPECT_GT(early.patience(Time{100000}), Time{0});
}

TEST(EarlyAnswer, waits_no_longer_than_to_the_next_look) {
  EarlyAnswer early(Time{0});
  early.add_data(Time{100}, 10);
  EXPECT_EQ(early.patience(Time{100}), Time{300});
  EXPECT_EQ(early.patience(Time{350}), Time{50});
  EXPECT_EQ(early.patience(Time{900}), Time{0});
  EXPECT_TRUE(early.is_time_to_look(Time{400}));
}

}  // namespace
}  // namespace headroom::cli
