// SPDX-License-Identifier: Apache-2.0
// What signals to headroom do to the command and to the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/played_supervisor.h"
#include "supervisor/wording.h"

namespace headroom::supervisor {
namespace {

using namespace std::chrono_literals;
using namespace headroom::supervisor::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Stop, a_signal_is_passed_on_and_kills_after_the_grace) {
  Play play({.restarts = 5, .grace = 10s});
  play.started();
  play.tell(event::Signal{signals::terminate, false});
  EXPECT_THAT(play.sent(), ElementsAre(signals::terminate));
  EXPECT_THAT(play.ends(), IsEmpty());
  play.wake();
  EXPECT_EQ(play.now, 10s);
  EXPECT_THAT(play.ends(), ElementsAre("KILL"));
  play.ended(killed);
  play.diagnosed();
  EXPECT_EQ(play.report->outcome, Outcome::stopped);
  EXPECT_EQ(play.report->exit, killed);
  EXPECT_EQ(play.report->attempts.at(0).ended_by, EndedBy::user);
  EXPECT_EQ(play.starts(), 1U);
}

TEST(Stop, a_signal_that_the_terminal_sent_to_both_is_not_sent_twice) {
  Play play({});
  play.started();
  play.tell(event::Signal{signals::interrupt, true});
  EXPECT_THAT(play.sent(), IsEmpty());
  play.ended({130, 2});
  play.diagnosed();
  EXPECT_EQ(play.report->exit.code, 130);
}

TEST(Stop, a_second_interrupt_kills_at_once_and_a_hangup_does_not) {
  Play play({});
  play.started();
  play.tell(event::Signal{signals::interrupt, true});
  play.tell(event::Signal{signals::hangup, false});
  EXPECT_THAT(play.ends(), IsEmpty());
  play.tell(event::Signal{signals::interrupt, true});
  EXPECT_THAT(play.ends(), ElementsAre("KILL"));
}

TEST(Stop, a_signal_while_it_waits_ends_the_run_at_once) {
  Play play({.restarts = 5});
  play.attempt(failure);
  ASSERT_FALSE(play.report.has_value());
  play.tell(event::Signal{signals::terminate, false});
  ASSERT_TRUE(play.report.has_value());
  EXPECT_EQ(play.report->outcome, Outcome::stopped);
  EXPECT_EQ(play.report->exit.code, 143);
}

TEST(Stop, a_signal_before_the_command_lives_reaches_it_when_it_does) {
  Play play({});
  play.tell(event::Signal{signals::interrupt, true});
  EXPECT_THAT(play.sent(), IsEmpty());
  play.started();
  EXPECT_THAT(play.sent(), ElementsAre(signals::interrupt));
}

TEST(Stop, a_signal_between_the_end_and_the_last_child_keeps_the_success) {
  Play play({});
  play.started();
  play.tell(event::MainEnded{success});
  play.tell(event::Signal{signals::interrupt, true});
  EXPECT_THAT(play.ends(), ElementsAre("TERM"));
  play.tell(event::TreeGone{});
  play.diagnosed();
  EXPECT_EQ(play.report->outcome, Outcome::completed);
}

TEST(Stop, who_insists_does_not_wait_for_the_diagnosis) {
  Play play({.restarts = 5});
  play.started();
  play.ended(failure);
  play.tell(event::Signal{signals::interrupt, false});
  EXPECT_FALSE(play.report.has_value());
  play.tell(event::Signal{signals::interrupt, false});
  ASSERT_TRUE(play.report.has_value());
  EXPECT_EQ(play.report->outcome, Outcome::stopped);
  EXPECT_EQ(play.report->exit, failure);
}

TEST(Stop, other_signals_are_passed_on_and_change_nothing) {
  Play play({});
  play.tell(event::Signal{signals::user1, false});
  play.started();
  play.tell(event::Signal{signals::user1, false});
  play.tell(event::Signal{signals::user2, true});
  play.tell(event::Signal{signals::go_on, false});
  EXPECT_THAT(play.sent(), ElementsAre(signals::user1, signals::go_on));
  play.attempt(success);
  EXPECT_EQ(play.report->outcome, Outcome::completed);
}

}  // namespace
}  // namespace headroom::supervisor
