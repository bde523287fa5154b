// SPDX-License-Identifier: Apache-2.0
// Models that hear samples: the published numbers of parameters, and how many frames samples make.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"
#include "estimate/models/parameters.h"
#include "estimate/models/waveform.h"

namespace headroom::estimate {
namespace {

using ::testing::HasSubstr;

Architecture hears(const std::string& keys) {
  auto model = parse_architecture(*parse_json("{" + keys + R"(, "vocab_size": 32})"));
  EXPECT_TRUE(model) << (model ? "" : model.error().message);
  return model ? *std::move(model) : Architecture{};
}

TEST(Wav2vec2, has_the_published_number_of_parameters) {
  EXPECT_EQ(parameter_count(hears(R"("model_type": "wav2vec2",
      "architectures": ["Wav2Vec2ForCTC"], "hidden_size": 768, "intermediate_size": 3072,
      "num_hidden_layers": 12, "num_attention_heads": 12)")),
            94396320U);
  EXPECT_EQ(parameter_count(hears(R"("model_type": "hubert", "architectures": ["HubertForCTC"],
      "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24,
      "num_attention_heads": 16, "conv_bias": true, "feat_extract_norm": "layer",
      "do_stable_layer_norm": true)")),
            315471520U);
}

// _get_feat_extract_output_lengths: 16,000 samples, a second, make 49 frames.
TEST(Wav2vec2, makes_a_frame_of_320_samples) {
  const Architecture model = hears(R"("model_type": "wav2vec2", "num_attention_heads": 12)");
  const Waveform& wave = *model.main().input.waveform;
  EXPECT_EQ(wave.frames(16000), 49U);
  EXPECT_EQ(wave.frames(400), 1U);
  EXPECT_EQ(wave.frames(399), 0U);
  EXPECT_EQ(wave.samples_min(), 400U);
}

TEST(Wav2vec2, refuses_what_its_layers_are_not) {
  const auto complaint = [](const std::string& keys) {
    const auto model = parse_architecture(
        *parse_json(R"({"model_type": "wav2vec2", "num_attention_heads": 12, )" + keys));
    return model ? std::string() : model.error().message;
  };
  EXPECT_THAT(complaint(R"("add_adapter": true})"), HasSubstr("add_adapter"));
  EXPECT_THAT(complaint(R"("conv_dim": [512]})"), HasSubstr("conv_dim"));
  EXPECT_THAT(complaint(R"("architectures": ["Wav2Vec2ForPreTraining"]})"), HasSubstr("ForCTC"));
}

}  // namespace
}  // namespace headroom::estimate
