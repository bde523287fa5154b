// SPDX-License-Identifier: Apache-2.0
#include "knowledge/pipelines.h"

#include <gtest/gtest.h>

#include <set>

namespace headroom::knowledge {
namespace {

TEST(Pipelines, are_found_by_every_name_of_theirs_and_by_no_other) {
  const auto pipelines = load_pipelines();
  ASSERT_TRUE(pipelines) << pipelines.error().message;
  std::set<std::string> names;
  for (const KnownPipeline& pipeline : *pipelines) {
    EXPECT_TRUE(names.insert(pipeline.name).second) << pipeline.name << " stands there twice";
    EXPECT_FALSE(pipeline.origin.source.empty()) << pipeline.name;
    EXPECT_TRUE(pipeline.components().contains("vae")) << pipeline.name;
    for (const std::string& other : pipeline.also) {
      EXPECT_TRUE(names.insert(other).second) << other << " stands there twice";
      EXPECT_EQ(find_pipeline(other)->name, pipeline.name) << other;
    }
  }
}

TEST(Pipelines, are_told_from_language_models) {
  EXPECT_TRUE(is_pipeline("SD 1.5"));
  EXPECT_TRUE(is_pipeline("sd_xl"));
  EXPECT_FALSE(is_pipeline("Qwen/Qwen2.5-3B"));
  const auto none = find_pipeline("sd9");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("sdxl"), std::string::npos) << none.error().message;
}

}  // namespace
}  // namespace headroom::knowledge
