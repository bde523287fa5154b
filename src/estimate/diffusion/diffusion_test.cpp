// SPDX-License-Identifier: Apache-2.0
// Pipelines of diffusers whose sizes can be worked out by hand; real ones are held against PyTorch
// in tests/plan/diffusion_peaks.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/document.h"
#include "estimate/diffusion/diffusion_plan.h"
#include "estimate/diffusion/options.h"
#include "knowledge/pipelines.h"

namespace headroom::estimate::diffusion {
namespace {

PipelineShape shape_of(const char* name) {
  const auto known = knowledge::find_pipeline(name);
  EXPECT_TRUE(known.has_value()) << (known ? "" : known.error().message);
  auto shape = parse_pipeline(known->components());
  EXPECT_TRUE(shape.has_value()) << (shape ? "" : shape.error().message);
  return *std::move(shape);
}

Settings settings_of(const Json& engine) {
  const auto settings = read_settings(engine);
  EXPECT_TRUE(settings.has_value()) << (settings ? "" : settings.error().message);
  return settings ? *settings : Settings{};
}

Device card_of(std::uint64_t mib, Attention attention = Attention::flash) {
  Device device;
  device.capacity = Bytes{mib << 20U};
  device.attention = attention;
  return device;
}

DiffusionPlan plan_of(const char* name, const Json& engine, const Device& device) {
  auto plan = make_diffusion_plan(shape_of(name), settings_of(engine), device, "torch");
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().message);
  return plan ? *std::move(plan) : DiffusionPlan{};
}

// The sizes of tensors whose name ends in `end`, each once.
std::vector<std::uint64_t> sizes(const Recording& recording, const std::string& end) {
  std::vector<std::uint64_t> found;
  for (std::uint32_t i = 0; i < recording.tensors.size(); ++i)
    if (recording.name_of(i).ends_with(end)) found.push_back(recording.tensors[i].bytes);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::uint64_t largest(const Recording& recording, const std::string& end) {
  const auto found = sizes(recording, end);
  return found.empty() ? 0 : found.back();
}

// What a checkpoint's table says is what the layers come to.
TEST(Pipelines, have_the_parameters_of_their_table) {
  const auto pipelines = knowledge::load_pipelines();
  ASSERT_TRUE(pipelines.has_value()) << pipelines.error().message;
  for (const auto& known : *pipelines) {
    auto shape = parse_pipeline(known.components());
    ASSERT_TRUE(shape.has_value()) << known.name << ": " << shape.error().message;
    std::map<std::string, std::uint64_t> counted;
    for (const PartSize& part : part_sizes(*shape, {})) counted[part.name] = part.parameters;
    for (const auto& part : known.parts)
      EXPECT_EQ(counted[part.component], part.parameters) << known.name << " " << part.component;
  }
}

// 64×64 latents, twice for guidance: 8 heads of 4096 × 4096 scores in fp32 without a fused kernel.
TEST(Attention, makes_scores_where_there_is_no_fused_kernel) {
  const PipelineShape shape = shape_of("sd15");
  const std::uint64_t scores = 2ULL * 8 * 4096 * 4096 * 4;
  Hardware math;
  math.kernel = Kernel::math;
  EXPECT_EQ(largest(record_pipeline(shape, {}, math), ".scores"), scores);
  EXPECT_EQ(largest(record_pipeline(shape, {}, {}), ".scores"), 0U);
  Settings settings;
  settings.slicing = Processor::sliced_half;  // Four heads of one image, in fp16.
  EXPECT_EQ(largest(record_pipeline(shape, settings, math), "attn1.scores"),
            4ULL * 4096 * 4096 * 2);
  settings.slicing = Processor::sliced_one;
  EXPECT_EQ(largest(record_pipeline(shape, settings, math), "attn1.scores"), 4096ULL * 4096 * 2);
}

// GemmFwdRest's of the decoder's second last level: 256 channels at 512×512, nine times, one image.
TEST(Convolutions, take_at_most_an_unfolded_image) {
  const PipelineShape shape = shape_of("sd15");
  Hardware unfolding;
  unfolding.unfolds = true;
  Settings settings;
  settings.images = 4;
  EXPECT_EQ(largest(record_pipeline(shape, settings, unfolding), ".convolution_workspace"),
            256ULL * 9 * 512 * 512 * 2);
  EXPECT_EQ(largest(record_pipeline(shape, settings, {}), ".convolution_workspace"), 0U);
}

// 1024×1024 in tiles of 512: the widest map of a tile has a quarter of the whole's pixels.
TEST(Vae, decodes_tiles_no_larger_than_it_was_trained_for) {
  const PipelineShape shape = shape_of("sd15");
  Settings settings;
  settings.height = settings.width = 1024;
  const auto widest = [&] {
    return largest(record_pipeline(shape, settings, {}), "upsamplers.0.conv");
  };
  EXPECT_EQ(widest(), 256ULL * 1024 * 1024 * 2);
  settings.vae_tiling = true;
  EXPECT_EQ(widest(), 256ULL * 512 * 512 * 2);
}

TEST(Vae, of_sdxl_decodes_in_fp32_where_its_fp16_overflows) {
  const PipelineShape shape = shape_of("sdxl");
  Settings settings;
  EXPECT_EQ(largest(record_pipeline(shape, settings, {}), "vae.decoder.conv_out"),
            3ULL * 1024 * 1024 * 4);
  settings.dtype = DType::bf16;
  EXPECT_EQ(largest(record_pipeline(shape, settings, {}), "vae.decoder.conv_out"),
            3ULL * 1024 * 1024 * 2);
}

TEST(Offload, of_models_holds_one_and_of_layers_hardly_any) {
  const PipelineShape shape = shape_of("sdxl");
  Settings settings;
  const auto stage = [&](Stage one) {
    const auto peaks = replay_stages(record_pipeline(shape, settings, {}), "exact");
    EXPECT_TRUE(peaks.has_value());
    return peaks->bytes[static_cast<std::size_t>(one)];
  };
  std::map<std::string, std::uint64_t> bytes;
  for (const PartSize& part : part_sizes(shape, settings)) bytes[part.name] = part.bytes;
  EXPECT_GE(stage(Stage::denoise), bytes["unet"] + bytes["text_encoder_2"] + bytes["vae"]);
  settings.offload = Offload::model;
  EXPECT_GE(stage(Stage::denoise), bytes["unet"]);
  EXPECT_LT(stage(Stage::denoise), bytes["unet"] + bytes["text_encoder_2"]);
  settings.offload = Offload::sequential;
  EXPECT_LT(stage(Stage::denoise), bytes["unet"] / 10);
}

TEST(T5, keeps_its_last_products_in_fp32_beside_fp16) {
  const PipelineShape shape = shape_of("flux");
  const auto t5 = [&](DType dtype) {
    Settings settings;
    settings.dtype = dtype;
    const auto sizes_of = part_sizes(shape, settings);
    return sizes_of[1].bytes;
  };
  EXPECT_EQ(t5(DType::fp16) - t5(DType::bf16), 24ULL * 4096 * 10240 * 2);
}

TEST(DiffusionPlan, says_what_would_fit_in_diffusers_own_calls) {
  const DiffusionPlan tight = plan_of("sdxl", {{"kind", "diffusers"}}, card_of(8192));
  EXPECT_EQ(tight.verdict, Verdict::does_not_fit);
  ASSERT_FALSE(tight.fitting.empty());
  for (const Fitting& one : tight.fitting) {
    const auto again = make_diffusion_plan(tight.shape, one.settings, card_of(8192), "torch");
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->verdict, Verdict::fits);
    EXPECT_EQ(again->most.allocated_bytes, one.most.allocated_bytes);
  }
  const DiffusionPlan ample = plan_of("sd15", {{"kind", "diffusers"}}, card_of(24576));
  EXPECT_EQ(ample.verdict, Verdict::fits);
  EXPECT_TRUE(ample.fitting.empty());
  EXPECT_LT(ample.least.allocated_bytes, ample.most.allocated_bytes);
}

TEST(DiffusionPlan, slices_attention_only_where_there_are_scores) {
  const auto slices = [](const DiffusionPlan& plan) {
    return std::any_of(plan.fitting.begin(), plan.fitting.end(),
                       [](const Fitting& one) { return one.settings.slicing != Processor::sdpa; });
  };
  const Json engine = {{"kind", "diffusers"}, {"height", 768}, {"width", 768}};
  EXPECT_TRUE(slices(plan_of("sd15", engine, card_of(8192, Attention::math))));
  EXPECT_FALSE(slices(plan_of("sd15", engine, card_of(4096, Attention::flash))));
}

TEST(DiffusionOptions, say_what_they_expect) {
  const auto message = [](const Json& engine) {
    const auto settings = read_settings(engine);
    return settings ? std::string() : settings.error().message;
  };
  EXPECT_NE(
      message({{"kind", "diffusers"}, {"enable_vae_tilling", true}}).find("enable_vae_tiling"),
      std::string::npos);
  EXPECT_NE(message({{"kind", "diffusers"}, {"torch_dtype", "int4"}}).find("float16"),
            std::string::npos);
  EXPECT_NE(message({{"kind", "diffusers"},
                     {"enable_model_cpu_offload", true},
                     {"enable_sequential_cpu_offload", true}})
                .find("both"),
            std::string::npos);
  EXPECT_EQ(settings_of({{"kind", "diffusers"}, {"torch_dtype", "torch.bfloat16"}}).dtype,
            DType::bf16);
}

TEST(DiffusionOptions, that_a_pipeline_has_not_are_refused) {
  Settings settings;
  settings.slicing = Processor::sliced_one;
  EXPECT_FALSE(check_settings(shape_of("flux"), settings));
  EXPECT_TRUE(check_settings(shape_of("sdxl"), settings));
  settings = {};
  settings.height = 1001;
  EXPECT_FALSE(check_settings(shape_of("sdxl"), settings));
}

TEST(ParsePipeline, names_the_component_that_is_wrong) {
  Json components = knowledge::find_pipeline("sdxl")->components();
  components["unet"]["down_block_types"][1] = "AttnDownBlock2D";
  const auto wrong = parse_pipeline(components);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("unet"), std::string::npos) << wrong.error().message;
  components.erase("unet");
  EXPECT_FALSE(parse_pipeline(components));
  EXPECT_FALSE(parse_pipeline({{"_class_name", "KandinskyPipeline"}}));
}

}  // namespace
}  // namespace headroom::estimate::diffusion
