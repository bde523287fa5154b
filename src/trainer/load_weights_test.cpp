// SPDX-License-Identifier: Apache-2.0
#include "trainer/load_weights.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"
#include "trainer/safetensors_file.h"
#include "trainer/testing/scratch_folder.h"
#include "trainer/testing/tiny_models.h"

namespace headroom::trainer {
namespace {

using ::testing::HasSubstr;
using testing::random_model;
using testing::ScratchFolder;
using testing::tiny_config;

ModelOptions fp32_options() {
  ModelOptions options;
  options.longest = 16;
  return options;
}

// The tensors of a model, as files hold them.
std::vector<NamedTensor> tensors_of(Model& model) {
  std::vector<NamedTensor> tensors;
  for (const Parameter& parameter : model.base()) {
    tensors.push_back({parameter.name, parameter.value});
  }
  return tensors;
}

void expect_same_parameters(Model& found, Model& expected) {
  for (std::size_t i = 0; i < expected.base().size(); ++i) {
    EXPECT_TRUE(at::equal(found.base()[i].value, expected.base()[i].value))
        << expected.base()[i].name;
  }
}

class LoadWeights : public ::testing::Test {
 protected:
  std::string load_error() {
    const Status status = load_weights(folder_.path(), *target_);
    if (status) return "";
    EXPECT_FALSE(status.error().next.empty());
    return status.error().message;
  }

  void write(const std::vector<NamedTensor>& tensors,
             const std::string& name = "model.safetensors") {
    ASSERT_TRUE(write_safetensors(folder_.file(name), tensors, {}));
  }

  ScratchFolder folder_;
  std::unique_ptr<Model> source_ = random_model(tiny_config(), fp32_options());
  std::unique_ptr<Model> target_ = std::make_unique<Model>(tiny_config(), fp32_options());
};

TEST_F(LoadWeights, one_file_fills_every_parameter) {
  write(tensors_of(*source_));
  EXPECT_TRUE(*has_weights(folder_.path()));
  EXPECT_EQ(load_error(), "");
  expect_same_parameters(*target_, *source_);
}

TEST_F(LoadWeights, shards_are_read_by_their_index) {
  const auto tensors = tensors_of(*source_);
  Json map = Json::object();
  std::vector<NamedTensor> parts[2];
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    parts[i % 2].push_back(tensors[i]);
    map[tensors[i].name] = i % 2 == 0 ? "a.safetensors" : "b.safetensors";
  }
  write(parts[0], "a.safetensors");
  write(parts[1], "b.safetensors");
  folder_.write("model.safetensors.index.json", Json{{"weight_map", map}}.dump());
  EXPECT_EQ(load_error(), "");
  expect_same_parameters(*target_, *source_);
}

TEST_F(LoadWeights, an_index_that_leads_astray_is_refused) {
  for (const char* index : {"{", "[]", "{}", R"({"weight_map":{}})", R"({"weight_map":{"a":1}})",
                            R"({"weight_map":{"a":"../a.safetensors"}})"}) {
    folder_.write("model.safetensors.index.json", index);
    EXPECT_NE(load_error(), "") << index;
  }
}

TEST_F(LoadWeights, another_dtype_is_converted) {
  auto tensors = tensors_of(*source_);
  for (NamedTensor& tensor : tensors) tensor.tensor = tensor.tensor.to(at::kDouble);
  write(tensors);
  EXPECT_EQ(load_error(), "");
  expect_same_parameters(*target_, *source_);
}

TEST_F(LoadWeights, missing_unexpected_and_misshaped_tensors_are_named) {
  auto tensors = tensors_of(*source_);
  const std::string first = tensors[0].name;
  tensors[0].name = "stranger";
  tensors[1].tensor = at::zeros({3, 2});
  write(tensors);
  const std::string message = load_error();
  EXPECT_THAT(message, HasSubstr("missing: " + first));
  EXPECT_THAT(message, HasSubstr("unexpected: stranger"));
  EXPECT_THAT(message, HasSubstr(tensors[1].name + " (expected [24, 12], found [3, 2])"));
}

TEST_F(LoadWeights, a_tied_head_may_be_stored_twice) {
  estimate::ModelConfig config = tiny_config();
  config.tied = true;
  source_ = random_model(config, fp32_options());
  target_ = std::make_unique<Model>(config, fp32_options());
  auto tensors = tensors_of(*source_);
  tensors.push_back({"lm_head.weight", tensors[0].tensor});
  write(tensors);
  EXPECT_EQ(load_error(), "");
  expect_same_parameters(*target_, *source_);
}

// As openai-community/gpt2 has it: no "transformer.", and the masks of every layer.
TEST_F(LoadWeights, gpt2_is_read_with_and_without_its_prefix_and_its_masks) {
  source_ = random_model(testing::tiny_gpt2_config(), fp32_options());
  for (const bool is_short : {false, true}) {
    target_ = std::make_unique<Model>(testing::tiny_gpt2_config(), fp32_options());
    auto tensors = tensors_of(*source_);
    const std::string prefix = "transformer.";
    for (NamedTensor& tensor : tensors)
      if (is_short) tensor.name = tensor.name.substr(prefix.size());
    const std::string layer = is_short ? "h.0." : "transformer.h.0.";
    tensors.push_back({layer + "attn.bias", at::ones({1, 1, 4, 4})});
    tensors.push_back({layer + "attn.masked_bias", at::ones({1})});
    tensors.push_back({"lm_head.weight", tensors[0].tensor});
    write(tensors);
    EXPECT_EQ(load_error(), "");
    expect_same_parameters(*target_, *source_);
    tensors.push_back({layer + "crossattention.bias", at::ones({1})});
    write(tensors);
    EXPECT_THAT(load_error(), HasSubstr("unexpected: " + layer + "crossattention.bias"));
  }
}

TEST_F(LoadWeights, a_folder_with_other_formats_only_is_not_taken_for_an_empty_one) {
  EXPECT_FALSE(*has_weights(folder_.path()));
  folder_.write("pytorch_model.bin", "x");
  const auto found = has_weights(folder_.path());
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().next, HasSubstr("safe_serialization"));
}

}  // namespace
}  // namespace headroom::trainer
