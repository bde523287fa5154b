// SPDX-License-Identifier: Apache-2.0
#include "knowledge/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace headroom::knowledge {
namespace {

using ::testing::HasSubstr;

std::string found_by(const std::string& name) {
  const auto model = find_model(name);
  return model ? model->name : "nothing: " + model.error().message;
}

TEST(Models, every_row_is_found_by_its_own_name_and_by_what_follows_the_organisation) {
  const auto models = load_models();
  ASSERT_TRUE(models) << models.error().message;
  std::set<std::string> names;
  for (const KnownModel& model : *models) {
    EXPECT_TRUE(names.insert(model.name).second) << model.name << " stands there twice";
    EXPECT_EQ(found_by(model.name), model.name);
    EXPECT_EQ(found_by(model.name.substr(model.name.find('/') + 1)), model.name);
    EXPECT_FALSE(model.origin.source.empty()) << model.name;
    EXPECT_TRUE(model.config.contains("model_type")) << model.name;
  }
}

TEST(Models, points_tell_sizes_apart) {
  EXPECT_EQ(found_by("OPT 1.3B"), "facebook/opt-1.3b");
  EXPECT_EQ(found_by("opt13b"), "facebook/opt-13b");
  EXPECT_EQ(found_by("qwen2_5_3b"), "Qwen/Qwen2.5-3B");
}

TEST(Models, a_tuned_variant_finds_its_model_and_an_own_row_comes_first) {
  EXPECT_EQ(found_by("meta-llama/Llama-2-7b-chat-hf"), "meta-llama/Llama-2-7b-hf");
  EXPECT_TRUE(find_model("Qwen/Qwen2.5-7B-Instruct")->stands_in);
  EXPECT_FALSE(find_model("google/gemma-3-1b-it")->stands_in);
}

TEST(Models, what_is_null_in_config_json_is_null_here) {
  EXPECT_TRUE(find_model("Mistral-7B-v0.3")->config.at("sliding_window").is_null());
  EXPECT_EQ(find_model("gemma-3-12b-it")->config.at("text_config").at("hidden_size"), 3840);
}

// "mistral" is no model, but the beginning of two names.
TEST(Models, a_word_of_a_name_names_those_that_have_it) {
  const std::string complaint = found_by("mistral");
  EXPECT_THAT(complaint, HasSubstr("\"mistralai/Mistral-7B-v0.1\""));
  EXPECT_THAT(complaint, HasSubstr("\"mistralai/Mistral-7B-v0.3\""));
}

TEST(Models, an_unknown_name_is_refused_with_at_most_three_near_ones) {
  const auto model = find_model("mistralai/Mistral-8B");
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("mistralai/Mistral-7B-v0.1"));
  EXPECT_LT(model.error().message.size(), 250U);
  EXPECT_THAT(model.error().next, HasSubstr("config ="));
}

}  // namespace
}  // namespace headroom::knowledge
