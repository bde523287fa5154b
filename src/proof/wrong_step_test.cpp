// SPDX-License-Identifier: Apache-2.0
#include "proof/wrong_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::proof {
namespace {

using testing::HasSubstr;

StepResult make(const std::string& name, double figure) {
  StepResult result;
  result.name = name;
  result.ok = true;
  result.figure = figure;
  result.unit = name == "rate" ? "TFLOP/s" : "GB/s";
  result.detail = "fp16";
  return result;
}

knowledge::Card card() {
  knowledge::Card one;
  one.tflops16 = 100;
  one.gb_s = 800;
  return one;
}

TEST(JudgeSpeed, tenth_of_what_the_maker_names_is_enough) {
  const knowledge::Card one = card();
  StepResult rate = make("rate", 10.1), slow = make("rate", 9.9), copy = make("bandwidth", 79);
  judge_speed(&one, rate);
  EXPECT_EQ(rate.ok, true);
  EXPECT_EQ(rate.detail, "fp16; 10 % of the 100 TFLOP/s that the maker names");
  judge_speed(&one, slow);
  EXPECT_EQ(slow.ok, false);
  EXPECT_EQ(slow.cause->id, "slower");
  judge_speed(&one, copy);
  EXPECT_EQ(copy.cause->id, "slower");
}

TEST(JudgeSpeed, unknown_card_is_said_and_not_judged) {
  StepResult rate = make("rate", 0.001);
  judge_speed(nullptr, rate);
  EXPECT_EQ(rate.ok, true);
  EXPECT_THAT(rate.detail, HasSubstr("nothing known to compare it with"));
}

TEST(JudgeSpeed, only_measured_speeds_are_judged) {
  const knowledge::Card one = card();
  StepResult softmax = make("softmax", 0), skipped = make("rate", 1);
  skipped.ok.reset();
  judge_speed(&one, softmax);
  judge_speed(&one, skipped);
  EXPECT_EQ(softmax.ok, true);
  EXPECT_EQ(skipped.ok, std::nullopt);
}

TEST(CauseOfKind, each_kind_has_its_cause) {
  const StepResult result = make("memory", 1);
  EXPECT_EQ(cause_of_kind("memory", result)->id, "hw-error");
  EXPECT_EQ(cause_of_kind("unstable", result)->id, "hw-error");
  EXPECT_EQ(cause_of_kind("size", result)->id, "free-memory-misreported");
  EXPECT_EQ(cause_of_kind("lost", result)->id, "vram-orphaned");
  EXPECT_EQ(cause_of_kind("wrong", result)->id, "wrong-answer");
  EXPECT_EQ(cause_of_kind("target", result)->id, "gfx-target-missing");
  EXPECT_EQ(cause_of_kind("nan", result)->id, "wrong-answer");
  EXPECT_EQ(cause_of_kind("grows", result)->id, "memory-growth");
  EXPECT_EQ(cause_of_kind("big", result)->id, "job-too-big");
  EXPECT_EQ(cause_of_kind("time", result)->id, "time-limit");
  for (const char* of_several : {"peer", "sum", "stuck"})
    EXPECT_EQ(cause_of_kind(of_several, result), std::nullopt);
  EXPECT_EQ(cause_of_kind("", result), std::nullopt);
}

TEST(MakeHung, gpu_that_cannot_be_left_wants_a_reboot) {
  const StepResult ended = make_hung("rate", {120, true});
  EXPECT_EQ(ended.cause->id, "gpu-hang");
  EXPECT_THAT(ended.detail, HasSubstr("120 s"));
  const StepResult stuck = make_hung("rate", {120, true, false});
  EXPECT_THAT(stuck.cause->fix.front().text, HasSubstr("Reboot"));
  EXPECT_EQ(make_hung("rate", {120, false}).cause->id, "hang");
}

TEST(MakeHung, processor_that_computes_is_slow) {
  EXPECT_EQ(make_hung("rate", {120, false, true, true}).cause->id, "time-limit");
  EXPECT_EQ(make_hung("rate", {120, true, true, true}).cause->id, "gpu-hang");
}

}  // namespace
}  // namespace headroom::proof
