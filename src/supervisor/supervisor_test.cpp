// SPDX-License-Identifier: Apache-2.0
// The state machine, one story a test. What it does in thousands of lives is in tests/simulation.
#include "supervisor/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/played_supervisor.h"
#include "supervisor/wording.h"

namespace headroom::supervisor {
namespace {

using namespace std::chrono_literals;
using namespace headroom::supervisor::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Play training(Policy policy, std::uint64_t micro) {
  Settings given;
  given.micro = micro;
  given.resume = {"--resume"};
  return Play(policy, {"train", "{micro}", "{accumulate}", "{resume}"}, given);
}

event::Sample sample(std::uint64_t output, std::uint64_t processor, std::uint64_t gpu = 0) {
  event::Sample seen;
  seen.output_bytes = output;
  seen.processor_ms = processor;
  seen.gpu_ms = gpu;
  return seen;
}

TEST(Supervisor, a_command_that_ends_with_0_completes) {
  Play play({});
  play.attempt(success);
  ASSERT_TRUE(play.report.has_value());
  EXPECT_EQ(play.report->outcome, Outcome::completed);
  EXPECT_EQ(play.report->exit, success);
  EXPECT_THAT(play.ends(), IsEmpty());
  EXPECT_EQ(play.report->attempts.at(0).duration, 1s);
  EXPECT_EQ(play.report->next_change, std::nullopt);
}

TEST(Supervisor, the_exit_of_a_command_is_the_exit_of_the_run) {
  for (const Exit& exit : {failure, segfault, Exit{126, std::nullopt}}) {
    Play play({});
    play.attempt(exit);
    EXPECT_EQ(play.report->outcome, Outcome::failed);
    EXPECT_EQ(play.report->exit, exit);
  }
}

TEST(Supervisor, a_program_that_is_not_there_is_not_tried_again) {
  Play play({.restarts = 5});
  play.tell(event::NotStarted{{127, std::nullopt}, "no such program: job"});
  EXPECT_EQ(play.report->outcome, Outcome::failed);
  EXPECT_EQ(play.report->exit.code, 127);
  EXPECT_THAT(play.said, HasSubstr("no such program"));
}

TEST(Supervisor, crashes_are_restarted_with_waits_that_double_and_then_it_gives_up) {
  Play play({.restarts = 8});
  std::vector<std::int64_t> waits;
  while (!play.report) {
    play.attempt(segfault);
    const Time begin = play.now;
    if (!play.report) play.wake();
    if (!play.report) waits.push_back((play.now - begin).count() / 1000);
  }
  EXPECT_THAT(waits, ElementsAre(1, 2, 4, 8, 16, 32, 60, 60));
  EXPECT_EQ(play.report->outcome, Outcome::gave_up);
  EXPECT_EQ(play.report->exit, segfault);
  ASSERT_EQ(play.report->attempts.size(), 9U);
  ASSERT_TRUE(play.report->attempts.back().cause.has_value());
  EXPECT_EQ(play.report->attempts.back().cause->id, "crash-loop");
  EXPECT_EQ(play.report->attempts.back().cause->evidence.size(), 9U);
}

TEST(Supervisor, an_attempt_that_ran_well_begins_the_waits_anew) {
  Play play({.restarts = 4});
  const auto wait_after = [&](Time ran) {
    play.started();
    play.now += ran;
    play.ended(failure);
    play.diagnosed();
    const Time begin = play.now;
    play.wake();
    return play.now - begin;
  };
  EXPECT_EQ(wait_after(1s), 1s);
  EXPECT_EQ(wait_after(9min), 2s);
  EXPECT_EQ(wait_after(10min), 1s);
  EXPECT_EQ(wait_after(1s), 2s);
}

TEST(Supervisor, a_restart_waits_until_nothing_of_the_last_attempt_is_left) {
  Play play({.restarts = 1, .grace = 10s});
  play.started();
  play.tell(event::MainEnded{failure});
  EXPECT_THAT(play.all<action::Diagnose>(), IsEmpty());
  play.wake();
  EXPECT_THAT(play.ends(), ElementsAre("TERM"));
  play.pass(9s);
  EXPECT_THAT(play.ends(), ElementsAre("TERM"));
  play.pass(1s);
  EXPECT_THAT(play.ends(), ElementsAre("TERM", "KILL"));
  EXPECT_EQ(play.starts(), 1U);
  play.tell(event::TreeGone{{{7, "daemon", true}}});
  play.diagnosed();
  play.wake();
  EXPECT_EQ(play.starts(), 2U);
  play.attempt(success);
  ASSERT_EQ(play.report->left_behind.size(), 1U);
  EXPECT_EQ(play.report->left_behind[0].command, "daemon");
}

TEST(Supervisor, what_cannot_be_ended_is_given_up_reported_and_never_joined_by_another) {
  Play play({.restarts = 3, .grace = 10s});
  play.started();
  play.tell(event::MainEnded{failure});
  play.wake();
  play.wake();
  EXPECT_THAT(play.all<action::AbandonTree>(), IsEmpty());
  play.pass(unkillable_after);
  EXPECT_EQ(play.all<action::AbandonTree>().size(), 1U);
  play.tell(event::TreeGone{{{7, "stuck", false}}});
  play.diagnosed();
  ASSERT_TRUE(play.report.has_value());
  EXPECT_EQ(play.starts(), 1U);
  EXPECT_FALSE(play.report->left_behind.at(0).ended);
}

TEST(Supervisor, the_exit_of_a_process_that_ends_after_it_was_given_up_is_kept) {
  Play play({.hang = 4s, .grace = 0s});
  play.started();
  for (int i = 0; i < 10; ++i) {
    play.now += 1s;
    play.tell(sample(1, 1));
  }
  play.pass(unkillable_after);
  play.tell(event::TreeGone{{{7, "job", false}}});
  play.pass(answer_time);
  EXPECT_EQ(play.all<action::Diagnose>().size(), 1U);
  play.tell(event::MainEnded{failure});
  play.diagnosed();
  EXPECT_EQ(play.report->attempts.at(0).exit, failure);
  EXPECT_EQ(play.report->exit.code, 1);
}

TEST(Supervisor, an_out_of_memory_is_answered_by_smaller_settings_that_do_not_count) {
  Play play = training({}, 8);
  for (int i = 0; i < 3; ++i) play.attempt({1, std::nullopt}, /*out_of_memory=*/true);
  play.attempt(success);
  EXPECT_EQ(play.report->outcome, Outcome::completed);
  const auto starts = play.all<action::Start>();
  ASSERT_EQ(starts.size(), 4U);
  EXPECT_THAT(starts[0].command, ElementsAre("train", "8", "1"));
  EXPECT_THAT(starts[1].command, ElementsAre("train", "4", "2", "--resume"));
  EXPECT_THAT(starts[3].command, ElementsAre("train", "1", "8", "--resume"));
  EXPECT_EQ(play.now, 4s) << "a retry with smaller settings waits for nothing";
}

TEST(Supervisor, retries_after_an_out_of_memory_end_at_micro_1) {
  Play play = training({.restarts = 2}, 2);
  play.attempt(killed, true);
  play.attempt(killed, true);
  ASSERT_TRUE(play.report.has_value());
  EXPECT_EQ(play.report->outcome, Outcome::gave_up);
  EXPECT_EQ(play.report->exit, killed);
  EXPECT_EQ(play.report->next_change, std::nullopt);
}

TEST(Supervisor, settings_that_the_command_does_not_take_are_shown_as_the_next_change) {
  Settings given;
  given.micro = 8;
  given.accumulate = 1;
  Play play({}, {"job"}, given);
  play.attempt(killed, true);
  EXPECT_EQ(play.starts(), 1U);
  EXPECT_EQ(play.report->outcome, Outcome::failed);
  ASSERT_TRUE(play.report->next_change.has_value());
  EXPECT_EQ(play.report->next_change->micro, 4U);
  EXPECT_EQ(play.report->next_change->accumulate, 2U);
}

TEST(Supervisor, an_out_of_memory_without_settings_is_a_crash) {
  Play play({.restarts = 1});
  play.attempt(killed, true);
  play.wake();
  play.attempt(success);
  EXPECT_EQ(play.report->outcome, Outcome::completed);
  EXPECT_TRUE(play.report->attempts.at(0).out_of_memory);
}

TEST(Supervisor, the_kernel_that_killed_for_memory_is_who_ended_it) {
  Play play = training({}, 4);
  play.started();
  play.ended(killed);
  play.diagnosed(false, /*by_kernel=*/true);
  EXPECT_EQ(play.starts(), 2U) << "such a kill is an out of memory";
  play.attempt(success);
  EXPECT_EQ(play.report->attempts.at(0).ended_by, EndedBy::kernel);
}

TEST(Supervisor, a_command_that_does_nothing_is_ended_as_hanging) {
  Play play({.hang = 60s, .grace = 5s});
  play.started();
  for (int i = 0; i < 70 && play.ends().empty(); ++i) {
    play.now += 1s;
    play.tell(sample(100, 2000 + static_cast<std::uint64_t>(i) * 5));  // Half a percent: noise.
  }
  EXPECT_EQ(play.now, 61s);
  EXPECT_THAT(play.ends(), ElementsAre("TERM"));
  play.pass(5s);
  EXPECT_THAT(play.ends(), ElementsAre("TERM", "KILL"));
  play.ended(killed);
  play.diagnosed();
  EXPECT_EQ(play.report->outcome, Outcome::failed);
  EXPECT_EQ(play.report->exit.code, 1) << "headroom ended it";
  EXPECT_EQ(play.report->attempts.at(0).ended_by, EndedBy::headroom);
  EXPECT_EQ(play.report->attempts.at(0).cause->id, "hang");
}

TEST(Supervisor, a_hanging_command_that_answers_SIGTERM_with_0_did_not_complete) {
  Play play({.hang = 4s});
  play.started();
  for (int i = 0; i < 10; ++i) {
    play.now += 1s;
    play.tell(sample(1, 1));
  }
  play.ended(success);
  play.diagnosed();
  EXPECT_EQ(play.report->outcome, Outcome::failed);
  EXPECT_EQ(play.report->exit.code, 1);
}

TEST(Supervisor, output_processor_and_gpu_each_are_work) {
  for (int kind = 0; kind < 3; ++kind) {
    Play play({.hang = 10s});
    play.started();
    for (std::uint64_t i = 0; i < 100; ++i) {
      play.now += 1s;
      play.tell(sample(kind == 0 ? i : 0, kind == 1 ? i * 200 : 0, kind == 2 ? i : 0));
    }
    EXPECT_THAT(play.ends(), IsEmpty()) << kind;
  }
}

TEST(Supervisor, time_in_which_nobody_looked_is_no_hang) {
  Play play({.hang = 60s});
  play.started();
  play.tell(sample(1, 1));
  play.now += 1h;  // A terminal's ^Z stopped both.
  play.tell(sample(1, 1));
  EXPECT_THAT(play.ends(), IsEmpty());
}

TEST(Supervisor, a_limit_that_nobody_enforces_ends_the_tree_at_once) {
  Play play = [] {
    Settings given;
    given.micro = 4;
    return Play({.memory = 1_GiB}, {"train", "{micro}", "{accumulate}"}, given);
  }();
  play.started();
  event::Sample seen = sample(1, 1);
  seen.memory = 2_GiB;
  seen.has_enforced_limit = true;
  play.tell(seen);
  EXPECT_THAT(play.ends(), IsEmpty());
  seen.has_enforced_limit = false;
  play.tell(seen);
  play.tell(seen);
  EXPECT_THAT(play.ends(), ElementsAre("KILL"));
  play.ended(killed);
  play.diagnosed();
  EXPECT_EQ(play.starts(), 2U) << "it is an out of memory";
  play.attempt(success);
  EXPECT_EQ(play.report->attempts.at(0).cause->id, "cgroup-memory-limit");
  EXPECT_EQ(play.report->attempts.at(0).ended_by, EndedBy::headroom);
}

TEST(Supervisor, growth_is_told_once_and_before_the_limit) {
  Play play({.memory = 10_GiB});
  play.started();
  for (std::uint64_t s = 0; s < 3600; s += 5) {
    play.now += 5s;
    event::Sample seen = sample(s, s * 1000);
    seen.memory = Bytes{(1ULL << 30U) + s * (2ULL << 20U)};
    seen.has_enforced_limit = true;
    play.tell(seen);
  }
  const auto said = play.all<action::Say>();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(said[0].text, HasSubstr("7.03 GiB an hour"));
  EXPECT_THAT(said[0].text, HasSubstr("--memory"));
}

TEST(Supervisor, events_in_odd_orders_lose_nothing) {
  Play play({});
  play.tell(event::TreeGone{});   // Before anybody said that it started.
  play.tell(event::Diagnosed{});  // Nobody asked.
  play.tell(event::MainEnded{failure});
  play.tell(event::MainEnded{success});  // It has ended.
  play.tell(sample(1, 1));
  play.tell(event::Started{});
  EXPECT_EQ(play.all<action::Diagnose>().size(), 1U);
  play.diagnosed();
  EXPECT_EQ(play.report->exit, failure);
  const std::size_t did = play.did.size();
  play.tell(event::Signal{signals::interrupt, false});
  play.pass(1h);
  EXPECT_EQ(play.did.size(), did) << "nothing happens after Finish";
}

TEST(Supervisor, an_early_tick_asks_to_be_woken_again) {
  Play play({.restarts = 1});
  play.attempt(failure);
  const std::size_t wakes = play.all<action::WakeAt>().size();
  play.pass(500ms);
  EXPECT_EQ(play.all<action::WakeAt>().size(), wakes + 1);
  EXPECT_EQ(play.starts(), 1U);
  play.wake();
  EXPECT_EQ(play.starts(), 2U);
}

TEST(Supervisor, times_of_no_length_end_at_once_and_never_loop) {
  Play play({.restarts = 1, .back_off = 0s, .longest_back_off = 0s, .grace = 0s});
  play.attempt(failure);
  EXPECT_EQ(play.starts(), 2U);
  play.started();
  play.tell(event::Signal{signals::terminate, false});
  EXPECT_THAT(play.ends(), ElementsAre("KILL"));
}

TEST(Wording, signals_and_times_have_names) {
  EXPECT_EQ(signal_name(9), "SIGKILL");
  EXPECT_EQ(signal_name(15), "SIGTERM");
  EXPECT_EQ(signal_name(40), "signal 40");
  EXPECT_EQ(signal_name(-1), "signal -1");
  EXPECT_EQ(describe_time(350ms), "350 ms");
  EXPECT_EQ(describe_time(200min), "3 h 20 min");
  EXPECT_EQ(describe_time(100h), "4 days 4 h");
}

event::Sample with_system(Bytes left, std::optional<Bytes> held) {
  event::Sample seen;
  seen.system_left = left;
  seen.held = held;
  return seen;
}

TEST(Supervisor, a_command_that_eats_the_systems_memory_is_asked_to_end_and_then_ended) {
  Play play({.guard = 1_GiB});
  play.started();
  play.tell(with_system(1_GiB, 20_GiB));
  EXPECT_THAT(play.ends(), IsEmpty());
  play.tell(with_system(900_MiB, 20_GiB));
  EXPECT_THAT(play.ends(), ElementsAre("TERM"));
  EXPECT_THAT(play.said, HasSubstr("900.0 MiB of the system's memory is left"));
  play.tell(with_system(700_MiB, 20_GiB));
  EXPECT_THAT(play.ends(), ElementsAre("TERM"));
  play.tell(with_system(500_MiB, 20_GiB));
  EXPECT_THAT(play.ends(), ElementsAre("TERM", "KILL"));
  play.ended(killed);
  play.diagnosed();
  const Attempt& attempt = play.report->attempts.at(0);
  EXPECT_EQ(attempt.ended_by, EndedBy::headroom);
  EXPECT_TRUE(attempt.out_of_memory);
  EXPECT_EQ(attempt.cause->id, "vram-guard");
  EXPECT_EQ(play.report->exit.code, 1);
}

TEST(Supervisor, a_command_that_does_not_make_the_difference_is_left_alone) {
  Play play({.guard = 1_GiB});
  play.started();
  play.tell(with_system(500_MiB, 100_MiB));
  EXPECT_THAT(play.ends(), IsEmpty());
  play.tell(with_system(500_MiB, std::nullopt));  // Nobody knows what it holds.
  EXPECT_THAT(play.ends(), ElementsAre("KILL"));
}

TEST(Supervisor, after_the_guard_a_training_run_goes_on_with_less) {
  Play play = training({.guard = 1_GiB}, 8);
  play.started();
  play.tell(with_system(600_MiB, 20_GiB));
  play.ended({143, 15});
  play.diagnosed();
  EXPECT_EQ(play.starts(), 2U);
}

}  // namespace
}  // namespace headroom::supervisor
