// SPDX-License-Identifier: Apache-2.0
#include "proof/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace headroom::proof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

StackResult make(const std::string& python, bool ok, std::vector<double> step_s) {
  StackResult stack;
  stack.python = python;
  stack.framework = "torch";
  stack.ok = ok;
  stack.step = "training";
  stack.training.step_s = std::move(step_s);
  stack.training.first_loss = 5.5;
  stack.training.last_loss = 5.0;
  return stack;
}

TrialReport make_report(std::vector<StackResult> stacks) {
  TrialReport report;
  report.job.job.batch.micro = 4;
  report.job.job.compute.dtype = estimate::DType::fp32;
  report.steps = 3;
  report.stacks = std::move(stacks);
  return report;
}

std::vector<std::string> order_of(TrialReport report) {
  rank(report);
  std::vector<std::string> order;
  for (const StackResult& stack : report.stacks) order.push_back(stack.python);
  return order;
}

TEST(SamplesPerS, is_of_the_median_step_after_the_first) {
  EXPECT_EQ(samples_per_s(make("a", true, {60, 2, 1, 2, 50}), 4), 2.0);
  EXPECT_EQ(samples_per_s(make("a", true, {2}), 4), 2.0);
  EXPECT_EQ(samples_per_s(make("a", false, {}), 4), std::nullopt);
}

TEST(SamplesPerS, steps_that_took_no_time_have_no_speed) {
  EXPECT_EQ(samples_per_s(make("a", true, {0, 0, 0}), 4), std::nullopt);
  const double least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(samples_per_s(make("a", true, {least, least}), 4), std::nullopt);
}

TEST(Rank, those_that_finished_come_by_speed_and_the_others_by_how_far_they_came) {
  StackResult imported = make("import", false, {}), checked = make("correctness", false, {});
  imported.step = "import";
  checked.step = "correctness";
  EXPECT_THAT(order_of(make_report({imported, make("slow", true, {9, 2, 2}), checked,
                                    make("one step", false, {1}), make("two steps", false, {9, 9}),
                                    make("fast", true, {9, 1, 1})})),
              ElementsAre("fast", "slow", "two steps", "one step", "correctness", "import"));
}

TEST(CompareLosses, rounding_is_no_difference) {
  TrialReport report = make_report({make("a", true, {1, 1}), make("b", true, {1, 1})});
  report.stacks[1].training.last_loss = 5.02;
  compare_losses(report);
  EXPECT_TRUE(report.stacks[0].ok && report.stacks[1].ok);
  EXPECT_TRUE(report.remarks.empty());
}

TEST(CompareLosses, one_against_two_has_failed) {
  TrialReport report =
      make_report({make("a", true, {1, 1}), make("b", true, {1, 1}), make("c", true, {1, 1})});
  report.stacks[0].training.last_loss = 4.5;
  compare_losses(report);
  EXPECT_FALSE(report.stacks[0].ok);
  EXPECT_EQ(report.stacks[0].step, "correctness");
  EXPECT_EQ(report.stacks[0].cause->id, "wrong-answer");
  EXPECT_TRUE(report.stacks[1].ok && report.stacks[2].ok);
}

TEST(CompareLosses, one_against_one_is_only_said) {
  TrialReport report = make_report({make("a", true, {1, 1}), make("b", true, {1, 1})});
  report.stacks[1].training.first_loss = 1;
  compare_losses(report);
  EXPECT_TRUE(report.stacks[0].ok && report.stacks[1].ok);
  ASSERT_EQ(report.remarks.size(), 1);
  EXPECT_THAT(report.remarks[0], HasSubstr("one of them is wrong"));
}

TEST(CompareLosses, those_that_did_not_finish_have_no_say) {
  TrialReport report =
      make_report({make("a", true, {1, 1}), make("b", false, {1}), make("c", false, {1})});
  report.stacks[0].training.last_loss = 1;
  compare_losses(report);
  EXPECT_TRUE(report.stacks[0].ok);
}

}  // namespace
}  // namespace headroom::proof
