// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes, averaging through real shared memory: right results, deaths, ranks that
// come back, and what must be refused.
#include "averager/averager.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "averager/job.h"

namespace headroom::averager::testing {
namespace {

using protocol::all_of;
using protocol::RankMask;

// Exit statuses of ranks.
enum : int { right = 0, no_open = 10, no_memory, failed, wrong, other_ranks };

constexpr std::uint64_t elements = 100'003;  // No multiple of anything.

Request request_for(void* data, std::uint64_t count, Kind kind = Kind::average) {
  return {.kind = kind,
          .type = ElementType::float32,
          .data = static_cast<std::byte*>(data),
          .elements = count};
}

Result<Outcome> run(Averager& averager, const Request& request) {
  HEADROOM_TRY(const Averager::Ticket ticket, averager.start(request));
  return averager.wait(ticket);
}

struct Way {
  bool in_segment = false;
  bool background = false;
  bool in_pieces = false;
};

// Averages `buckets` buckets, one after the other.
int average(const Options& options, const Way& way, std::uint64_t buckets) {
  auto averager = Averager::open(options);
  if (!averager) return no_open;
  std::vector<float> own(elements);
  float* data = own.data();
  if (way.in_segment) {
    const auto memory = (*averager)->allocate(elements * sizeof(float));
    if (!memory) return no_memory;
    data = reinterpret_cast<float*>(*memory);
  }
  for (std::uint64_t bucket = 0; bucket < buckets; ++bucket) {
    fill(data, elements, options.rank, bucket);
    auto request = request_for(data, elements);
    request.in_pieces = way.in_pieces;
    const auto outcome = run(**averager, request);
    if (!outcome) return failed;
    if (outcome->present != all_of(options.terms.ranks)) return other_ranks;
    if (!is_average(data, elements, outcome->present, bucket)) return wrong;
  }
  return right;
}

void expect_right(const std::string& job, std::uint32_t ranks, const Way& way) {
  std::vector<Child> children;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    auto options = options_of(job, ranks, rank);
    options.background = way.background;
    children.emplace_back([=] { return average(options, way, 20); });
  }
  for (Child& child : children) EXPECT_EQ(child.wait(), right);
  EXPECT_FALSE(is_left_behind(job));
}

TEST(Averager, copied_buckets_are_averaged_on_every_rank) {
  expect_right("copied", 3, {});
}

TEST(Averager, buckets_in_the_segment_are_averaged_where_they_are) {
  expect_right("in-segment", 3, {.in_segment = true});
}

TEST(Averager, a_thread_of_its_own_does_the_work) {
  expect_right("background", 2, {.background = true});
}

TEST(Averager, one_rank_alone_keeps_its_data) {
  expect_right("alone", 1, {});
}

TEST(Averager, buckets_in_pieces_are_averaged_like_whole_ones) {
  expect_right("pieces", 3, {.in_pieces = true});
  expect_right("pieces", 2, {.in_segment = true, .in_pieces = true});
  expect_right("pieces", 2, {.background = true, .in_pieces = true});
  expect_right("pieces", 1, {.in_pieces = true});
}

TEST(Averager, a_bucket_in_pieces_may_be_larger_than_the_arena) {
  const auto rank = [](std::uint32_t which) -> int {
    const auto options = options_of("large", 2, which);
    auto averager = Averager::open(options);
    if (!averager) return no_open;
    const std::uint64_t large = options.terms.arena_bytes / sizeof(float) + 1;
    std::vector<float> data(large);
    fill(data.data(), large, which, 0);
    auto request = request_for(data.data(), large);
    if (run(**averager, request)) return wrong;
    request.in_pieces = true;
    if (!run(**averager, request)) return failed;
    return is_average(data.data(), large, 3, 0) ? right : wrong;
  };
  Child one([&] { return rank(0); });
  Child two([&] { return rank(1); });
  EXPECT_EQ(one.wait(), right);
  EXPECT_EQ(two.wait(), right);
}

TEST(Averager, where_a_lost_rank_leaves_the_data_a_bucket_is_whole) {
  const auto rank = [](std::uint32_t which) -> int {
    auto options = options_of("whole", 2, which);
    options.terms.policy = static_cast<std::uint32_t>(Policy::fail);
    auto averager = Averager::open(options);
    if (!averager) return no_open;
    std::vector<float> data(options.terms.arena_bytes / sizeof(float) + 1);
    auto request = request_for(data.data(), data.size());
    request.in_pieces = true;
    return run(**averager, request) ? wrong : right;
  };
  Child one([&] { return rank(0); });
  Child two([&] { return rank(1); });
  EXPECT_EQ(one.wait(), right);
  EXPECT_EQ(two.wait(), right);
}

// Every other one is in pieces.
TEST(Averager, buckets_in_flight_do_not_mix) {
  const auto rank = [](const Options& options) -> int {
    auto averager = Averager::open(options);
    if (!averager) return no_open;
    constexpr std::uint64_t in_flight = 4;
    std::vector<std::vector<float>> data(in_flight, std::vector<float>(elements));
    for (std::uint64_t round = 0; round < 5; ++round) {
      std::vector<Averager::Ticket> tickets;
      for (std::uint64_t one = 0; one < in_flight; ++one) {
        fill(data[one].data(), elements, options.rank, round * in_flight + one);
        auto request = request_for(data[one].data(), elements);
        request.in_pieces = one % 2 == 0;
        const auto ticket = (*averager)->start(request);
        if (!ticket) return failed;
        tickets.push_back(*ticket);
      }
      if ((*averager)->start(request_for(data[0].data(), 1))) return wrong;  // One too many.
      for (std::uint64_t one = 0; one < in_flight; ++one) {
        const auto outcome = (*averager)->wait(tickets[one]);
        if (!outcome) return failed;
        if (!is_average(data[one].data(), elements, 3, round * in_flight + one)) return wrong;
      }
    }
    return right;
  };
  for (const bool background : {false, true}) {
    auto first = options_of("in-flight", 2, 0);
    auto second = options_of("in-flight", 2, 1);
    first.background = second.background = background;
    first.terms.arena_bytes = second.terms.arena_bytes = 8 * mebibyte;
    Child one([&] { return rank(first); });
    Child two([&] { return rank(second); });
    EXPECT_EQ(one.wait(), right);
    EXPECT_EQ(two.wait(), right);
  }
}

TEST(Averager, a_broadcast_gives_everyone_what_the_root_has) {
  const auto rank = [](std::uint32_t which) -> int {
    auto averager = Averager::open(options_of("broadcast", 3, which));
    if (!averager) return no_open;
    std::vector<float> data(elements);
    fill(data.data(), elements, which, 0);
    auto request = request_for(data.data(), elements, Kind::broadcast);
    request.root = 1;
    if (!run(**averager, request)) return failed;
    for (std::uint64_t index = 0; index < elements; ++index)
      if (data[index] != value_of(1, 0, index)) return wrong;
    return right;
  };
  std::vector<Child> children;
  for (std::uint32_t which = 0; which < 3; ++which)
    children.emplace_back([=] { return rank(which); });
  for (Child& child : children) EXPECT_EQ(child.wait(), right);
}

// Rank 1 does `ends` after `before` buckets; rank 0 averages ten and must see it go once.
void expect_survival(const std::string& job, std::uint32_t silent_ms, std::uint32_t absent_ms,
                     const std::function<void()>& ends) {
  auto options = options_of(job, 2, 0);
  options.times = {.silent_ms = silent_ms, .absent_ms = absent_ms};
  const auto rank = [=](std::uint32_t which) -> int {
    auto mine = options;
    mine.rank = which;
    auto averager = Averager::open(mine);
    if (!averager) return no_open;
    std::vector<float> data(elements);
    RankMask lost = 0;
    for (std::uint64_t bucket = 0; bucket < 10; ++bucket) {
      if (which == 1 && bucket == 4) ends();
      fill(data.data(), elements, which, bucket);
      const auto outcome = run(**averager, request_for(data.data(), elements));
      if (!outcome) return failed;
      lost |= outcome->lost;
      if (outcome->present != (bucket < 4 ? 3 : 1)) return other_ranks;
      if (!is_average(data.data(), elements, outcome->present, bucket)) return wrong;
    }
    return lost == 2 ? right : other_ranks;
  };
  Child survivor([&] { return rank(0); });
  Child dies([&] { return rank(1); });
  EXPECT_EQ(survivor.wait(), right);
  EXPECT_GT(dies.wait(), 128);  // Also if it was only stopped: it must not come back to write.
  EXPECT_FALSE(is_left_behind(job));
}

TEST(Averager, the_others_go_on_when_a_rank_is_killed) {
  expect_survival("killed", 60'000, 600'000, [] { ::raise(SIGKILL); });
}

TEST(Averager, the_others_go_on_when_a_rank_crashes) {
  expect_survival("crashed", 60'000, 600'000, [] { ::raise(SIGSEGV); });
}

TEST(Averager, a_rank_that_is_stopped_is_ended_and_the_others_go_on) {
  expect_survival("stopped", 2'000, 600'000, [] { ::raise(SIGSTOP); });
}

TEST(Averager, a_rank_that_hangs_is_ended_and_the_others_go_on) {
  expect_survival("hangs", 60'000, 2'000, [] {
    while (true) ::pause();
  });
}

TEST(Averager, by_the_other_policy_a_lost_rank_fails_the_bucket_and_keeps_the_data) {
  const auto rank = [](std::uint32_t which) -> int {
    auto options = options_of("fails", 2, which);
    options.terms.policy = static_cast<std::uint32_t>(Policy::fail);
    auto averager = Averager::open(options);
    if (!averager) return no_open;
    std::vector<float> data(elements);
    fill(data.data(), elements, which, 0);
    if (which == 1) ::raise(SIGKILL);
    const auto outcome = run(**averager, request_for(data.data(), elements));
    if (outcome || outcome.error().message.find("rank 1 is gone") == std::string::npos)
      return wrong;
    return is_average(data.data(), elements, 1, 0) ? right : failed;
  };
  Child survivor([&] { return rank(0); });
  Child dies([&] { return rank(1); });
  EXPECT_EQ(survivor.wait(), right);
}

TEST(Averager, a_rank_that_is_started_again_joins_at_a_step_and_gets_the_state) {
  // What each rank does from a step on; `bucket` counts the averages since the job began.
  const auto rank = [](std::uint32_t which, bool dies) -> int {
    auto averager = Averager::open(options_of("rejoins", 2, which));
    if (!averager) return no_open;
    std::vector<float> data(elements);
    float steps_done = 0;  // Stands for the model's state.
    auto state = request_for(&steps_done, 1, Kind::broadcast);
    bool joined = (*averager)->has_come_back();
    if (joined && !run(**averager, state)) return failed;
    bool saw_both_again = joined;
    for (int more = 0; more < 3; joined = false) {
      // The others are behind their step's border when this rank is admitted.
      const auto step = joined ? Outcome() : run(**averager, {.kind = Kind::step});
      if (!step) return failed;
      if (step->joined != 0) {
        if (!run(**averager, state)) return failed;
        saw_both_again = true;
      }
      const auto bucket = static_cast<std::uint64_t>(steps_done);
      fill(data.data(), elements, which, bucket);
      if (dies && bucket == 2) ::raise(SIGKILL);
      const auto outcome = run(**averager, request_for(data.data(), elements));
      if (!outcome) return failed;
      if (!is_average(data.data(), elements, outcome->present, bucket)) return wrong;
      steps_done += 1;
      if (saw_both_again) ++more;
      if (saw_both_again && outcome->present != 3) return other_ranks;
    }
    return right;
  };
  Child stays([&] { return rank(0, false); });
  Child dies([&] { return rank(1, true); });
  EXPECT_EQ(dies.wait(), 128 + SIGKILL);
  Child again([&] { return rank(1, false); });
  EXPECT_EQ(again.wait(), right);
  EXPECT_EQ(stays.wait(), right);
  EXPECT_FALSE(is_left_behind("rejoins"));
}

}  // namespace
}  // namespace headroom::averager::testing
