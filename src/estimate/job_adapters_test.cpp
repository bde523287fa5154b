// SPDX-License-Identifier: Apache-2.0
#include "estimate/job_adapters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"
#include "estimate/job_json.h"

namespace headroom::estimate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Job> job_of(const std::string& text) {
  return parse_job(*parse_document("[model]\nconfig = \"m\"\n" + text));
}

TEST(AdaptedModules, embedding_and_head_go_by_the_names_of_every_family) {
  const auto job = job_of(
      "[method]\nkind = \"lora\"\ntargets = [\"q_proj\", \"embed_out\"]\n"
      "modules_to_save = [\"wte\"]\n");
  ASSERT_TRUE(job.has_value()) << job.error().message;
  EXPECT_THAT(job->method.targets, ElementsAre(Target::q, Target::head));
  EXPECT_THAT(job->method.modules_to_save, ElementsAre(Target::embedding));
  EXPECT_EQ(to_json(*job)["method"]["modules_to_save"], Json({"embed_tokens"}));
}

TEST(AdaptedModules, all_linear_leaves_embedding_and_head_out) {
  const auto job = job_of("[method]\nkind = \"lora\"\ntargets = \"all-linear\"\n");
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->method.targets.size(), 7U);
  const auto listed = job_of("[method]\nkind = \"lora\"\ntargets = [\"all-linear\"]\n");
  ASSERT_TRUE(listed.has_value());
  EXPECT_TRUE(listed->method.all_linear);
}

TEST(AdaptedModules, what_cannot_be_is_refused_by_name) {
  const std::pair<const char*, const char*> wrong[] = {
      {"[method]\nkind = \"lora\"\nmodules_to_save = [\"score\"]\n", "found \"score\""},
      {"[method]\nkind = \"lora\"\ntargets = [\"all-linear\", \"lm_head\"]\n",
       "expected \"all-linear\" by itself"},
      {"[method]\nmodules_to_save = [\"lm_head\"]\n", "found \"full\""},
      {"[method]\nkind = \"lora\"\ntargets = [\"lm_head\"]\nmodules_to_save = [\"lm_head\"]\n",
       "without adapters"},
      {"[compute]\nliger_kernel_config = { rop = true }\n", "rop"}};
  for (const auto& [text, said] : wrong) {
    const auto job = job_of(text);
    ASSERT_FALSE(job.has_value()) << text;
    EXPECT_THAT(job.error().message, HasSubstr(said));
  }
}

TEST(AdaptedModules, ligers_kernels_are_written_as_they_were_read) {
  const auto job =
      job_of("[compute]\nuse_liger_kernel = true\nliger_kernel_config = { rope = false }\n");
  ASSERT_TRUE(job.has_value()) << job.error().message;
  EXPECT_TRUE(job->compute.liger.on);
  EXPECT_EQ(to_json(*job)["compute"]["liger_kernel_config"], Json({{"rope", false}}));
}

}  // namespace
}  // namespace headroom::estimate
