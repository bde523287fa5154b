// SPDX-License-Identifier: Apache-2.0
#include "deploy/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "deploy/json_compare.h"

namespace headroom::deploy {
namespace {

using testing::HasSubstr;

ServiceSpec a_spec() {
  ServiceSpec spec;
  spec.service.name = "ml";
  spec.smoke.request = Request{"http://h/x", "GET", {}, {}};
  return spec;
}

Answer answered(int status, std::string body) {
  Answer answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

SmokeRun passed_in(std::vector<double> ms) {
  SmokeRun run;
  run.ms = std::move(ms);
  return run;
}

SmokeRun failed(Fault::Kind kind) {
  SmokeRun run;
  run.fault = Fault{kind, "why", "GET http://h/x", "text"};
  return run;
}

std::string id_of(const ServiceSpec& spec, const Seen& seen) {
  const auto cause = judge(spec, seen);
  return cause ? cause->id : "";
}

// A candidate of which everything is wrong at once; each test takes away from the front.
Seen all_wrong() {
  Seen seen;
  seen.gave_up_health = true;
  seen.deaths = {{134, 6, true, "ml"}};
  seen.memory_peak = 2_GiB;
  seen.hangs = true;
  seen.smoke = failed(Fault::Kind::failed);
  seen.baseline = passed_in({10});
  return seen;
}

TEST(Judge, the_first_cause_in_the_promised_order_is_the_answer) {
  ServiceSpec spec = a_spec();
  spec.expect.memory = 1_GiB;
  spec.expect.gpu = true;
  spec.expect.faster = 1;
  Seen seen = all_wrong();
  EXPECT_EQ(id_of(spec, seen), "unhealthy");
  seen.was_healthy = true;
  EXPECT_EQ(id_of(spec, seen), "crash-loop");
  seen.deaths.clear();
  EXPECT_EQ(id_of(spec, seen), "memory-growth");
  seen.memory_peak = 1_GiB;
  EXPECT_EQ(id_of(spec, seen), "hang");
  seen.hangs = false;
  EXPECT_EQ(id_of(spec, seen), "smoke-failed");
  seen.smoke = failed(Fault::Kind::wrong);
  EXPECT_EQ(id_of(spec, seen), "wrong-answer");
  seen.smoke = passed_in({20});
  EXPECT_EQ(id_of(spec, seen), "gpu-not-used");
  seen.gpu = GpuUse{true, 1_GiB, Bytes{}, 5, {}};
  EXPECT_EQ(id_of(spec, seen), "slower");
  seen.smoke = passed_in({10});
  EXPECT_EQ(id_of(spec, seen), "");
}

TEST(Judge, the_log_names_the_death_only_where_it_is_sure) {
  Seen seen;
  seen.was_healthy = true;
  seen.deaths = {{134, 6, true, "ml"}};
  seen.log.emplace();
  seen.log->cause.emplace();
  seen.log->cause->id = "gfx-target-missing";
  seen.log->cause->confidence = 0.8;
  EXPECT_EQ(id_of(a_spec(), seen), "gfx-target-missing");
  seen.log->cause->confidence = 0.79;
  const auto cause = judge(a_spec(), seen);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->id, "crash-loop");
  EXPECT_THAT(cause->reasons.back(), HasSubstr("gfx-target-missing"));
}

TEST(Judge, what_the_limit_ended_has_grown_whatever_the_log_says) {
  Seen seen;
  seen.was_healthy = true;
  seen.deaths = {{137, 9, true, "ml"}};
  seen.oom_kills = 1;
  seen.log.emplace();
  seen.log->cause.emplace();
  seen.log->cause->id = "cgroup-memory-limit";
  seen.log->cause->confidence = 1;
  EXPECT_EQ(id_of(a_spec(), seen), "memory-growth");
}

TEST(Judge, an_alarm_of_the_kernel_counts_where_the_log_rules_are_sure) {
  Seen seen;
  seen.was_healthy = true;
  seen.alarms = {"ring gfx timeout"};
  EXPECT_TRUE(needs_log(a_spec(), seen));
  EXPECT_EQ(id_of(a_spec(), seen), "");
  seen.log.emplace();
  seen.log->cause.emplace();
  seen.log->cause->id = "gpu-hang";
  seen.log->cause->confidence = 0.9;
  EXPECT_EQ(id_of(a_spec(), seen), "gpu-hang");
}

TEST(Judge, crashes_are_borne_up_to_the_number_allowed) {
  ServiceSpec spec = a_spec();
  spec.watch.crashes = 1;
  Seen seen;
  seen.was_healthy = true;
  seen.deaths = {{1, std::nullopt, true, ""}};
  EXPECT_EQ(id_of(spec, seen), "");
  seen.down = true;
  EXPECT_EQ(id_of(spec, seen), "crash-loop");
  seen.down = false;
  seen.core_dumps = 2;
  EXPECT_EQ(id_of(spec, seen), "crash-loop");
}

TEST(Judge, an_end_that_only_its_parent_knows_has_no_number) {
  Seen seen;
  seen.was_healthy = true;
  seen.down = true;
  seen.deaths = {{-1, std::nullopt, false, "a worker"}};
  const auto cause = judge(a_spec(), seen);
  ASSERT_TRUE(cause);
  ASSERT_FALSE(cause->reasons.empty());
  EXPECT_EQ(cause->reasons.front(), "a worker ended; only its parent knows how");
}

TEST(GpuUse, a_process_alone_is_not_use_where_more_is_known) {
  EXPECT_TRUE(is_used({true, 1_MiB, std::nullopt, 0, {}}));
  EXPECT_TRUE(is_used({true, Bytes{}, Bytes{}, 7, {}}));
  EXPECT_TRUE(is_used({true, std::nullopt, std::nullopt, std::nullopt, {}}));
  EXPECT_FALSE(is_used({true, Bytes{}, Bytes{}, 0, {}}));
  EXPECT_FALSE(is_used({false, 1_GiB, std::nullopt, 9, {}}));
  EXPECT_FALSE(is_used({std::nullopt, std::nullopt, std::nullopt, std::nullopt, {}}));
  EXPECT_TRUE(is_used({std::nullopt, 1_GiB, std::nullopt, 9, {}}));
}

TEST(Answers, status_values_and_text_are_judged_in_this_order) {
  Smoke smoke = a_spec().smoke;
  smoke.expect_json = {{"/a/0", "1.0"}, {"/b", "\"x\""}};
  smoke.expect_text = "x\"";
  const std::string right = R"({"a": [1.005], "b": "x"})";
  EXPECT_FALSE(judge_answer(smoke, answered(200, right), nullptr));
  EXPECT_EQ(judge_answer(smoke, answered(500, right), nullptr)->kind, Fault::Kind::failed);
  EXPECT_EQ(judge_answer(smoke, answered(200, R"({"a": [1.2], "b": "x"})"), nullptr)->message,
            "expected 1.0 at /a/0, found 1.2");
  EXPECT_EQ(judge_answer(smoke, answered(200, "no"), nullptr)->kind, Fault::Kind::wrong);
  smoke.expect_text = "y+";
  EXPECT_EQ(judge_answer(smoke, answered(200, right), nullptr)->kind, Fault::Kind::wrong);
  Answer late;
  late.end = Answer::End::timed_out;
  EXPECT_EQ(judge_answer(smoke, late, nullptr)->kind, Fault::Kind::no_answer);
  Answer broken;
  broken.end = Answer::End::transport;
  EXPECT_EQ(judge_answer(smoke, broken, nullptr)->kind, Fault::Kind::failed);
}

TEST(Answers, a_command_is_right_where_it_ends_with_0) {
  Smoke smoke;
  smoke.command = {"check", "it all"};
  EXPECT_FALSE(judge_answer(smoke, answered(0, ""), nullptr));
  EXPECT_EQ(judge_answer(smoke, answered(3, ""), nullptr)->source, "check 'it all'");
}

TEST(Answers, those_of_before_are_the_same_but_for_what_is_ignored) {
  Smoke smoke;
  smoke.same_answers = true;
  smoke.tolerance = 0.01;
  const std::string before = R"({"t": 1, "faces": [{"score": 0.980, "id/~": [1]}], "n": 0})";
  EXPECT_EQ(
      difference(smoke, before, R"({"n": 0.0, "t": 1, "faces": [{"score": 0.981, "id/~": [1]}]})"),
      "");
  EXPECT_THAT(difference(smoke, before, R"({"t": 2, "faces": [], "n": 0})"), HasSubstr("/faces/0"));
  smoke.ignore = {"/t", "/faces/0/id~1~0"};
  EXPECT_EQ(difference(smoke, before, R"({"faces": [{"score": 0.98}], "n": 0})"), "");
  EXPECT_THAT(difference(smoke, before, R"({"t": 2, "faces": [{"score": 0.9}], "n": 0})"),
              HasSubstr("/faces/0/score"));
  EXPECT_NE(difference(smoke, "text", "other"), "");
  EXPECT_NE(difference(smoke, before, "other"), "");
  EXPECT_NE(difference(smoke, "1", "\"1\""), "");
}

TEST(Answers, the_median_does_not_follow_one_slow_request) {
  EXPECT_EQ(passed_in({1, 900, 2}).median_ms(), 2);
  EXPECT_EQ(passed_in({1, 3, 2, 900}).median_ms(), 2.5);
  EXPECT_FALSE(passed_in({}).median_ms());
}

TEST(Pointers, what_is_no_pointer_finds_nothing) {
  EXPECT_TRUE(is_pointer("") && is_pointer("/") && is_pointer("/a~0~1"));
  EXPECT_FALSE(is_pointer("a") || is_pointer("/~") || is_pointer("/~2"));
}

}  // namespace
}  // namespace headroom::deploy
