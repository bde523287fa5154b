// SPDX-License-Identifier: Apache-2.0
#include "report/deploy_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/utc_time.h"

namespace headroom::report {
namespace {

using testing::HasSubstr;
using testing::Not;

// The incident: it starts well, and dies when the first model is loaded.
deploy::DeployReport incident() {
  deploy::DeployReport report;
  report.name = "photos";
  report.outcome = deploy::Outcome::rolled_back;
  report.began = deploy::Time{1762810518000};
  report.timeline = {{report.began, "began"},
                     {report.began + deploy::Time{15500}, "python ended by signal 6 | <b>"}};
  findings::Cause cause;
  cause.id = "crash-loop";
  cause.title = "photos died with the new configuration";
  cause.confidence = 0.9;
  cause.reasons = {"python ended by signal 6"};
  cause.evidence = {{"service log", 12, "Memory critical error by agent node-0", ""}};
  cause.fix = {findings::command("headroom check")};
  report.cause = cause;
  report.baseline_ms = 120.25;
  report.downtime_s = 6.4321;
  report.restored = true;
  report.change_id = "20251110T223518Z-deploy-photos";
  report.next = cause.fix;
  return report;
}

plan::Change change() {
  plan::Change change;
  plan::Step step;
  step.what = "Put image ml:rocm into /etc/ml.container";
  step.action = plan::FileEdit{"/etc/ml.container", "Image=ml:cpu\n", "Image=ml:rocm\n", {}};
  change.steps.push_back(step);
  return change;
}

TEST(DeployReport, json_has_every_key_and_says_why_one_is_null) {
  const auto json = to_json(incident());
  EXPECT_EQ(json["schema"], "headroom.deploy/1");
  EXPECT_EQ(json["outcome"], "rolled-back");
  EXPECT_EQ(json["cause"]["id"], "crash-loop");
  EXPECT_EQ(json["timeline"][1]["t_s"], 15.5);
  EXPECT_EQ(json["smoke"]["baseline_ms"], 120.25);
  EXPECT_TRUE(json["smoke"]["candidate_ms"].is_null());
  EXPECT_TRUE(json["missing"].contains("/smoke/candidate_ms"));
  EXPECT_FALSE(json["missing"].contains("/smoke/baseline_ms"));
  EXPECT_EQ(json["downtime_s"], 6.432);
  EXPECT_EQ(json["restored"], true);
  EXPECT_TRUE(json["postmortem"].is_null());
}

TEST(DeployReport, the_post_mortem_tells_the_whole_story) {
  const std::string text = to_postmortem(incident(), change());
  for (const std::string part :
       {"# Deployment of photos: rolled-back", "Began: 2025-11-10 21:35:18Z", "Downtime: 6.4 s",
        "Root cause: `crash-loop`, 90 % sure", "## Timeline", "| 21:35:33 | 15.5 s |",
        "service log:12", "Memory critical error", "## What was rolled back", "    -Image=ml:cpu",
        "    +Image=ml:rocm", "## What to do next", "`headroom check`"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("6 | <b>")));  // It would be another cell, and markup.
}

TEST(DeployReport, what_is_left_by_hand_is_said_first_of_all) {
  deploy::DeployReport report = incident();
  report.restored = false;
  report.left = {findings::sentence("it could not be put back"),
                 findings::command("sudo headroom undo X")};
  EXPECT_THAT(to_postmortem(report, change()), HasSubstr("2. `sudo headroom undo X`"));
  EXPECT_THAT(to_text(report, Style{}), HasSubstr("NOT fully restored"));
  EXPECT_THAT(to_text(report, Style{}), HasSubstr("  sudo headroom undo X\n"));
}

TEST(DeployReport, a_dry_run_shows_the_difference) {
  deploy::DeployReport report;
  report.outcome = deploy::Outcome::planned;
  report.gate.checks = {{"GPU", deploy::GateCheck::Answer::passed, "officially supported", {}}};
  const std::string text = to_text(report, change(), Style{});
  EXPECT_THAT(text, HasSubstr("GPU: officially supported"));
  EXPECT_THAT(text, HasSubstr("+Image=ml:rocm"));
  EXPECT_TRUE(to_json(report)["restored"].is_null());
}

TEST(UtcTime, days_before_and_after_a_leap_day_are_right) {
  EXPECT_EQ(utc_time(std::chrono::milliseconds{0}), "1970-01-01 00:00:00Z");
  EXPECT_EQ(utc_time(std::chrono::milliseconds{1709251199999}), "2024-02-29 23:59:59Z");
}

}  // namespace
}  // namespace headroom::report
