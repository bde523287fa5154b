// SPDX-License-Identifier: Apache-2.0
#include "run/command/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::run {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class Environment : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = knowledge::load_gpu_tables();
    ASSERT_TRUE(loaded);
    tables_.emplace(*std::move(loaded));
  }
  facts::Gpu& add_gpu(const std::string& gfx, bool integrated, std::uint64_t index) {
    facts::Gpu gpu;
    gpu.name = gfx;
    gpu.gfx = {gfx, {}};
    gpu.integrated = {integrated, {}};
    gpu.kfd_id = {index + 1, {}};
    gpu.connection.hip_index = gpu.connection.rocr_index = {index, {}};
    facts_.gpus.push_back(gpu);
    return facts_.gpus.back();
  }
  CommandEnvironment clean(std::vector<std::string> variables) {
    diagnosis_ = findings::diagnose({facts_, *tables_});
    return clean_environment(std::move(variables), {&facts_, &diagnosis_}, *tables_);
  }

  std::optional<knowledge::GpuTables> tables_;
  facts::Facts facts_;
  findings::Diagnosis diagnosis_;
};

const std::string wrong_override = "HSA_OVERRIDE_GFX_VERSION=9.0.6";

TEST_F(Environment, an_override_that_the_gpu_cannot_run_is_taken_out_and_said) {
  add_gpu("gfx1100", false, 0);
  const auto result = clean({"A=1", wrong_override});
  EXPECT_THAT(result.variables, ElementsAre("A=1"));
  ASSERT_EQ(result.said.size(), 1U);
  EXPECT_THAT(result.said.front(), HasSubstr("HSA_OVERRIDE_GFX_VERSION=9.0.6 is removed"));
}

TEST_F(Environment, nothing_is_touched_without_an_amd_gpu) {
  const auto result = clean({wrong_override});
  EXPECT_THAT(result.variables, ElementsAre(wrong_override));
  EXPECT_TRUE(result.said.empty());
  EXPECT_THAT(clean_environment({wrong_override}, {}, *tables_).variables,
              ElementsAre(wrong_override));
}

TEST_F(Environment, an_option_that_the_allocator_does_not_have_is_taken_out_of_its_list) {
  add_gpu("gfx1100", false, 0);
  const auto result = clean({"PYTORCH_ALLOC_CONF=max_split_size_mb:128,expandable_segmets:True"});
  EXPECT_THAT(result.variables, Contains("PYTORCH_ALLOC_CONF=max_split_size_mb:128"));
  EXPECT_FALSE(result.said.empty());
}

TEST_F(Environment, a_device_list_becomes_both_masks_that_hip_reads) {
  add_gpu("gfx1100", false, 0);
  add_gpu("gfx1100", false, 1);
  CommandEnvironment environment{{"CUDA_VISIBLE_DEVICES=0", "ROCR_VISIBLE_DEVICES=0,1"}, {}};
  ASSERT_TRUE(set_devices("1", {&facts_, &diagnosis_}, environment));
  EXPECT_THAT(
      environment.variables,
      ElementsAre("CUDA_VISIBLE_DEVICES=1", "ROCR_VISIBLE_DEVICES=0,1", "HIP_VISIBLE_DEVICES=1"));
}

TEST_F(Environment, a_device_that_is_not_there_is_refused) {
  add_gpu("gfx1100", false, 0);
  CommandEnvironment environment;
  EXPECT_FALSE(set_devices("1", {&facts_, &diagnosis_}, environment));
  EXPECT_FALSE(set_devices("", {}, environment));
  EXPECT_FALSE(set_devices("all", {}, environment));
  EXPECT_FALSE(set_devices("0,0", {}, environment));
  EXPECT_TRUE(set_devices("7", {}, environment));
}

}  // namespace
}  // namespace headroom::run
