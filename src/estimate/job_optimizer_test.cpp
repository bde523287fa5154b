// SPDX-License-Identifier: Apache-2.0
#include "estimate/job_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"

namespace headroom::estimate {
namespace {

using ::testing::HasSubstr;

Result<Job> job_from(const std::string& optimizer) {
  const auto document = parse_document("[model]\nconfig = \"m\"\n[optimizer]\n" + optimizer);
  EXPECT_TRUE(document.has_value());
  return parse_job(*document);
}

TEST(JobOptimizer, defaults_are_those_that_the_kind_has_elsewhere) {
  EXPECT_EQ(job_from("kind = \"adamw\"")->optimizer.weight_decay, 0.01);
  EXPECT_EQ(job_from("kind = \"sgd\"")->optimizer.weight_decay, 0);
  EXPECT_EQ(job_from("kind = \"sgd\"")->optimizer.momentum, 0);
  const Job relative = *job_from("kind = \"adafactor\"");
  EXPECT_TRUE(relative.optimizer.relative_step);
  EXPECT_TRUE(relative.optimizer.scale_parameter);
  const Job given = *job_from("kind = \"adafactor\"\nlearning_rate = 1e-3");
  EXPECT_FALSE(given.optimizer.relative_step);
  EXPECT_FALSE(given.optimizer.scale_parameter);
  EXPECT_EQ(given.optimizer.weight_decay, 0);
  EXPECT_EQ(given.optimizer.clip_threshold, 1);
}

TEST(JobOptimizer, what_would_be_ignored_or_contradicts_itself_is_refused_by_its_key) {
  for (const auto& [text, key] :
       {std::pair{"momentum = 0.9", "optimizer.momentum"},
        {"kind = \"adafactor\"\nmomentum = true", "optimizer.momentum"},
        {"kind = \"sgd\"\nmomentum = 1.5", "optimizer.momentum"},
        {"kind = \"sgd\"\nmomentum = \"much\"", "optimizer.momentum"},
        {"kind = \"sgd\"\nnesterov = true", "optimizer.nesterov"},
        {"kind = \"sgd\"\nclip_threshold = 1", "optimizer.clip_threshold"},
        {"kind = \"adafactor\"\nclip_threshold = 0", "optimizer.clip_threshold"},
        {"kind = \"adafactor\"\nlearning_rate = 1\nrelative_step = true",
         "optimizer.relative_step"},
        {"kind = \"adafactor\"\nlearning_rate = 1\nwarmup_init = true", "optimizer.warmup_init"},
        {"kind = \"adafactor\"\nschedule = \"linear\"", "optimizer.schedule"}}) {
    const auto job = job_from(text);
    ASSERT_FALSE(job) << text;
    EXPECT_THAT(job.error().message, HasSubstr(key)) << text;
    EXPECT_FALSE(job.error().next.empty()) << text;
  }
}

}  // namespace
}  // namespace headroom::estimate
