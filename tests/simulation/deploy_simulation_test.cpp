// SPDX-License-Identifier: Apache-2.0
// Deployments in a world of fake time: every way in which a candidate fails, every trouble of the
// machine, and a kill at every step. Whatever happens, the machine ends on the whole old or the
// whole new configuration, running, and nothing is kept that gave a reason not to be.
#include <gtest/gtest.h>

#include "deploy/deployer.h"
#include "simulation/deploy_world.h"

namespace headroom::simulation {
namespace {

using deploy::DeployReport;
using deploy::Outcome;

deploy::ServiceSpec make_spec() {
  deploy::ServiceSpec spec;
  spec.service.name = "photos";
  spec.service.kind = deploy::ServiceKind::commands;
  spec.smoke.request = deploy::Request{"http://127.0.0.1:3003/predict", "GET", {}, {}};
  spec.expect.gpu = true;
  spec.expect.faster = 0.8;
  return spec;
}

deploy::Options make_options() {
  deploy::Options options;
  options.apply = true;
  options.spec_path = "/srv/photos.toml";
  options.again = "headroom deploy photos.toml";
  options.start_command = "systemctl start photos";
  return options;
}

World make_world(Way way, Trouble trouble = {}, std::uint64_t seed = 1) {
  return {make_spec(), make_options(), way, trouble, seed};
}

struct Expected {
  Way way;
  std::string cause;  // Empty: it is committed.
};

const std::vector<Expected>& expectations() {
  static const std::vector<Expected> all = {
      {Way::good, ""},
      {Way::restarted_by_other, ""},
      {Way::never_healthy, "unhealthy"},
      {Way::dies_at_start, "unhealthy"},
      {Way::aborts_at_load, "crash-loop"},
      {Way::dies_later, "crash-loop"},
      {Way::ends_by_itself, "crash-loop"},
      {Way::logged_death, "gfx-target-missing"},
      {Way::leaks, "memory-growth"},
      {Way::out_of_memory, "memory-growth"},
      {Way::hangs_at_load, "hang"},
      {Way::hangs_later, "hang"},
      {Way::fails, "smoke-failed"},
      {Way::answers_wrongly, "wrong-answer"},
      {Way::on_cpu, "gpu-not-used"},
      {Way::slow, "slower"},
  };
  return all;
}

void expect_whole(const World& world, const std::string& what) {
  EXPECT_FALSE(world.stuck) << what;
  EXPECT_FALSE(world.ran_mixed) << what;
  EXPECT_NE(world.files, Files::partly) << what;
  EXPECT_TRUE(world.running) << what;
  EXPECT_EQ(world.runs_new, world.files == Files::wholly_new) << what;
}

std::string story(const DeployReport& report) {
  std::string text;
  for (const auto& entry : report.timeline) {
    text += std::to_string((entry.when - report.began).count()) + " ms: " + entry.event + "\n";
  }
  return text;
}

TEST(DeploySimulation, every_way_ends_committed_or_rolled_back_with_its_cause) {
  for (const Expected& expected : expectations()) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      World world = make_world(expected.way, {}, seed);
      const auto report = world.run();
      const std::string what = expected.cause + ", seed " + std::to_string(seed);
      ASSERT_TRUE(report) << what;
      expect_whole(world, what + "\n" + story(*report));
      if (expected.cause.empty()) {
        EXPECT_EQ(report->outcome, Outcome::committed) << what << story(*report);
        EXPECT_FALSE(report->cause) << what;
        EXPECT_EQ(world.files, Files::wholly_new) << what;
      } else {
        ASSERT_TRUE(report->cause) << what << "\n" << story(*report);
        EXPECT_EQ(report->cause->id, expected.cause) << what << "\n" << story(*report);
        EXPECT_EQ(report->outcome, Outcome::rolled_back) << what;
        EXPECT_EQ(report->restored, true) << what;
        EXPECT_EQ(world.files, Files::old) << what;
        EXPECT_TRUE(report->downtime_s.has_value()) << what;
      }
    }
  }
}

TEST(DeploySimulation, a_crash_is_taken_back_in_the_time_that_its_steps_take) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    World world = make_world(Way::aborts_at_load, {}, seed);
    const auto report = world.run();
    ASSERT_TRUE(report && report->downtime_s);
    EXPECT_LT(*report->downtime_s, 15) << story(*report);  // Stop, start, health and requests.
  }
}

// Runs it again and again with a kill at each action, then lets the next call end it.
void kill_everywhere(Way way, bool half_done, bool reboots) {
  for (std::size_t at = 0;; ++at) {
    World world = make_world(way, {}, 7);  // One seed: the same actions each time, to the last.
    const auto report = world.run(Kill{at, half_done, reboots});
    if (report) break;  // It ended before the kill.
    const std::string what = "killed at " + std::to_string(at) + (half_done ? ", half done" : "") +
                             (reboots ? ", rebooted" : "") + ", way " +
                             std::to_string(static_cast<int>(way)) + "\n" + world.stored;
    ASSERT_FALSE(world.stuck) << what;
    const bool was_touched = world.touched;
    const auto ended = world.run_again();
    expect_whole(world, what);
    EXPECT_TRUE(!world.committed || world.files == Files::wholly_new) << what;
    if (!ended) {  // Nothing was left to do: it was over, or had not begun.
      EXPECT_TRUE(!was_touched || reboots || world.files == Files::wholly_new ||
                  world.stored.find("\"over\"") != std::string::npos)
          << what;
      continue;
    }
    EXPECT_EQ(world.files, ended->outcome == Outcome::committed ? Files::wholly_new : Files::old)
        << what;
    EXPECT_FALSE(ended->outcome == Outcome::committed && ended->cause) << what;
    if (ended->outcome == Outcome::rolled_back) {
      EXPECT_EQ(ended->restored, true) << what;
    }
  }
}

TEST(DeploySimulation, the_next_call_ends_what_a_kill_at_any_step_left) {
  for (const Expected& expected : expectations()) {
    for (const bool half_done : {false, true}) {
      for (const bool reboots : {false, true}) kill_everywhere(expected.way, half_done, reboots);
    }
  }
}

TEST(DeploySimulation, a_second_kill_on_the_way_back_changes_nothing) {
  for (const Way way : {Way::good, Way::aborts_at_load, Way::answers_wrongly}) {
    for (std::size_t first = 0; first < 48; ++first) {
      for (std::size_t second = 0; second < 20; ++second) {
        World world = make_world(way, {}, first);
        if (world.run(Kill{first, first % 2 == 0, false})) continue;
        const bool half = second % 2 == 0;
        if (!world.run_again(Kill{second, half, second % 3 == 0})) world.run_again();
        expect_whole(world, std::to_string(first) + " and " + std::to_string(second));
      }
    }
  }
}

TEST(DeploySimulation, nothing_is_touched_when_it_is_refused) {
  for (const bool gate : {false, true}) {
    Trouble trouble;
    (gate ? trouble.gate_refuses : trouble.old_is_broken) = true;
    World world = make_world(Way::good, trouble);
    const auto report = world.run();
    ASSERT_TRUE(report);
    EXPECT_EQ(report->outcome, Outcome::refused);
    ASSERT_TRUE(report->cause);
    EXPECT_EQ(report->cause->id, gate ? "gpu-unsupported" : "baseline-broken");
    EXPECT_FALSE(world.touched);
    EXPECT_FALSE(report->restored);
  }
}

TEST(DeploySimulation, what_did_not_run_is_left_stopped_after_a_roll_back) {
  Trouble trouble;
  trouble.old_is_stopped = true;
  deploy::ServiceSpec spec = make_spec();
  spec.expect.faster = 0;
  World world(spec, make_options(), Way::fails, trouble, 3);
  const auto report = world.run();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, Outcome::rolled_back);
  EXPECT_EQ(report->restored, true);
  EXPECT_EQ(world.files, Files::old);
  EXPECT_FALSE(world.running);
}

TEST(DeploySimulation, without_a_baseline_speed_is_refused_unless_forced) {
  Trouble trouble;
  trouble.old_is_stopped = true;
  World refused = make_world(Way::good, trouble);
  const auto report = refused.run();
  ASSERT_TRUE(report && report->cause);
  EXPECT_EQ(report->cause->id, "baseline-broken");
  EXPECT_FALSE(refused.touched);
  deploy::Options options = make_options();
  options.force = true;
  World forced(make_spec(), options, Way::good, trouble, 3);
  const auto committed = forced.run();
  ASSERT_TRUE(committed);
  EXPECT_EQ(committed->outcome, Outcome::committed);
  EXPECT_FALSE(committed->ratio);
}

TEST(DeploySimulation, an_old_configuration_that_comes_up_late_is_tried_again) {
  Trouble trouble;
  trouble.old_start_failures = 2;
  World world = make_world(Way::fails, trouble);
  const auto report = world.run();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->restored, true) << story(*report);
  expect_whole(world, story(*report));
}

TEST(DeploySimulation, a_roll_back_that_fails_says_what_is_left) {
  Trouble no_start;
  no_start.old_start_failures = 100;
  Trouble no_undo;
  no_undo.undo_failures = 100;
  for (const Trouble& trouble : {no_start, no_undo}) {
    World world = make_world(Way::fails, trouble);
    const auto report = world.run();
    ASSERT_TRUE(report);
    EXPECT_EQ(report->outcome, Outcome::rolled_back);
    EXPECT_EQ(report->restored, false);
    ASSERT_GE(report->left.size(), 2U);
    EXPECT_TRUE(report->left.back().is_command());
    EXPECT_FALSE(world.ran_mixed);
  }
}

TEST(DeploySimulation, a_change_that_cannot_be_made_leaves_the_old_one_running) {
  Trouble trouble;
  trouble.apply_fails = true;
  World world = make_world(Way::good, trouble);
  const auto report = world.run();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, Outcome::rolled_back);
  EXPECT_EQ(report->restored, true);
  expect_whole(world, story(*report));
  EXPECT_EQ(world.files, Files::old);
}

TEST(DeploySimulation, no_step_is_taken_that_could_not_be_recorded) {
  for (int at = 1; at < 8; ++at) {
    Trouble trouble;
    trouble.keep_fails_at = at;
    World world = make_world(Way::good, trouble);
    const auto report = world.run();
    ASSERT_TRUE(report) << at;
    expect_whole(world, std::to_string(at) + "\n" + story(*report));
    if (at == 1) {
      EXPECT_EQ(report->outcome, Outcome::refused);
      EXPECT_EQ(report->cause->id, "disk-full");
      EXPECT_FALSE(world.touched);
    }
  }
}

TEST(DeploySimulation, who_interrupts_it_gets_the_old_configuration_or_the_decided_one) {
  for (const Way way : {Way::good, Way::aborts_at_load, Way::hangs_later}) {
    for (std::size_t at = 0; at < 400; ++at) {
      Trouble trouble;
      trouble.signal_at = at;
      World world = make_world(way, trouble, at);
      const auto report = world.run();
      ASSERT_TRUE(report) << at;
      expect_whole(world, std::to_string(at) + "\n" + story(*report));
      const bool is_new = world.files == Files::wholly_new;
      EXPECT_EQ(report->outcome == Outcome::committed, is_new) << story(*report);
      if (world.actions < at) break;
    }
  }
}

TEST(DeploySimulation, tolerated_crashes_are_borne_in_the_watch) {
  deploy::ServiceSpec spec = make_spec();
  spec.watch.crashes = 5;
  World world(spec, make_options(), Way::dies_later, {}, 4);
  const auto report = world.run();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, Outcome::committed) << story(*report);
}

}  // namespace
}  // namespace headroom::simulation
