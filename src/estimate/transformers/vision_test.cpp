// SPDX-License-Identifier: Apache-2.0
// Models that see: what becomes of an image's size, and what a step takes for it. Whole peaks are
// held against PyTorch's in tests/plan/vision_peaks.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"
#include "estimate/transformers/engine.h"
#include "estimate/transformers/image_size.h"
#include "estimate/transformers/testing.h"

namespace headroom::estimate {
namespace {

using ::testing::HasSubstr;
using testing::model_of;
using testing::recorded;
using testing::tensors;

constexpr std::uint64_t batch = 2, sequence = 40;

Json text() {
  return {{"model_type", "llama"},    {"vocab_size", 500},      {"hidden_size", 64},
          {"intermediate_size", 128}, {"num_hidden_layers", 2}, {"num_attention_heads", 4}};
}

// A tower of three layers, of which two are used; 16 patches.
Json llava() {
  return {{"model_type", "llava"},
          {"text_config", text()},
          {"vision_config",
           {{"hidden_size", 32},
            {"intermediate_size", 64},
            {"num_hidden_layers", 3},
            {"num_attention_heads", 2},
            {"image_size", 56},
            {"patch_size", 14}}}};
}

Json qwen() {
  Json config = text();
  config["model_type"] = "qwen2_5_vl";
  config["vision_config"] = {{"depth", 2},
                             {"hidden_size", 32},
                             {"num_heads", 2},
                             {"intermediate_size", 64},
                             {"out_hidden_size", 64},
                             {"fullatt_block_indexes", Json::array({1})}};
  return config;
}

Job job_of(std::uint64_t images) {
  Job job;
  job.batch.micro = batch;
  job.batch.sequence = sequence;
  job.batch.images_per_sample = images;
  job.compute.attention = Attention::flash;
  return job;
}

Job sized(std::uint64_t height, std::uint64_t width) {
  Job job = job_of(1);
  job.batch.image_height = height;
  job.batch.image_width = width;
  return job;
}

std::uint64_t gradients(const Recording& recording) {
  std::uint64_t sum = 0;
  for (const Event& event : recording.events)
    if (event.kind == Event::Kind::retag && event.component == Component::gradients)
      sum += recording.tensors[event.tensor].meta.elements();
  return sum;
}

TEST(ImageSize, sides_are_rounded_to_merged_patches_and_kept_within_limits) {
  const Architecture model = model_of(qwen());
  EXPECT_EQ(patch_grid(model, sized(448, 672)).rows, 32U);
  EXPECT_EQ(patch_grid(model, sized(448, 672)).columns, 48U);
  EXPECT_EQ(image_tokens(model, sized(448, 672)), 384U);
  EXPECT_EQ(image_tokens(model, sized(455, 650)), 16U * 23);
  EXPECT_EQ(image_tokens(model, sized(20, 20)), 4U);          // 3,136 pixels at least.
  EXPECT_LE(image_tokens(model, sized(9000, 9000)), 16384U);  // 12,845,056 at most.
  EXPECT_EQ(image_tokens(model, job_of(1)), 0U);
}

TEST(ImageSize, windows_are_smaller_at_an_images_edges) {
  const std::vector<Piece> pieces = pieces_of({20, 16}, 2, 4);  // 10 × 8 merged patches.
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(pieces[0].length, 64U);
  EXPECT_EQ(pieces[0].count, 4U);
  EXPECT_EQ(pieces[1].length, 32U);
  EXPECT_EQ(pieces[1].count, 2U);
  EXPECT_EQ(pieces_of({20, 16}, 2, 0).front().length, 320U);
}

// 640 × 480 in 672 × 672 keeps 48 × 36 of its patches, and a row's end each.
TEST(ImageSize, tiles_are_those_that_keep_most_of_the_image) {
  Json config = llava();
  config["model_type"] = "llava_next";
  config["vision_config"]["image_size"] = 336;
  const Architecture model = model_of(config);
  const auto tiles = tiles_of(model, sized(640, 480));
  ASSERT_TRUE(tiles);
  EXPECT_EQ(tiles->count(), 5U);
  EXPECT_EQ(image_tokens(model, sized(640, 480)), 576U + 48 * 37);
  EXPECT_EQ(image_tokens(model, sized(300, 900)), 576U + 24 * 73);
  EXPECT_FALSE(tiles_of(model_of(llava()), sized(640, 480)));
}

TEST(Vision, images_are_among_the_tokens_and_no_more_than_those) {
  const auto refused = [](const Job& job, const Json& config) {
    const auto made = record_transformers(job, model_of(config), Device{}, 1);
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(refused(job_of(2), llava()), "");
  EXPECT_THAT(refused(job_of(3), llava()), HasSubstr("room for 3 images of 16 tokens each"));
  EXPECT_THAT(refused(job_of(1), qwen()), HasSubstr("size of the images"));
  EXPECT_THAT(refused(job_of(1), text()), HasSubstr("a model that sees"));
}

TEST(Vision, pixels_of_all_images_become_rows_as_wide_as_the_texts) {
  const Recording recording = recorded(job_of(2), llava());
  EXPECT_EQ(tensors(recording, "pixel_values").front(),
            (Meta{{batch * 2, 3, 56, 56}, Element::fp32}));
  EXPECT_EQ(tensors(recording, "image_features").front().shape, (Shape{batch * 2 * 16, 64}));
  EXPECT_EQ(tensors(recording, "embeddings_with_images").front().shape,
            (Shape{batch, sequence, 64}));
  EXPECT_TRUE(tensors(recorded(job_of(0), llava()), "image_features").empty());
}

TEST(Vision, what_is_frozen_or_not_asked_for_gets_no_gradient) {
  const std::uint64_t tower_layer = 4 * 32 * 32 + 4 * 32 + 2 * 32 * 64 + 64 + 32 + 4 * 32;
  const std::uint64_t projector = 32 * 64 + 64 + 64 * 64 + 64;
  Job job = job_of(1);
  const std::uint64_t all = gradients(recorded(job, llava()));
  job.method.freeze_projector = true;
  EXPECT_EQ(all - gradients(recorded(job, llava())), projector);
  job = job_of(1);
  job.method.freeze_vision_tower = true;
  const std::uint64_t input = 3 * 14 * 14 * 32 + 32 + 17 * 32 + 2 * 32;
  EXPECT_EQ(all - gradients(recorded(job, llava())), 2 * tower_layer + input);
  job.method.freeze_language_model = true;
  EXPECT_EQ(gradients(recorded(job, llava())), projector);
}

// A list of names finds q_proj in CLIP as well, but neither o_proj nor the MLP's.
TEST(Vision, adapters_are_where_modules_are_called_alike) {
  Job job = job_of(1);
  job.method.kind = MethodKind::lora;
  job.method.freeze_vision_tower = job.method.freeze_projector = true;
  const auto adapters = [&] { return tensors(recorded(job, llava()), "lora_A.weight").size(); };
  EXPECT_EQ(adapters(), 2U * 7);
  job.method.freeze_vision_tower = false;
  EXPECT_EQ(adapters(), 2U * 7 + 3 * 3);
  job.method.all_linear = true;
  EXPECT_EQ(adapters(), 2U * 7 + 3 * 6);
  job.method.freeze_projector = false;
  EXPECT_EQ(adapters(), 2U * 7 + 3 * 6 + 2);
}

TEST(Vision, windows_are_attended_to_one_by_one) {
  const Job job = sized(112, 168);
  const Recording recording = recorded(job, qwen());
  const std::uint64_t patches = batch * 8 * 12;
  EXPECT_EQ(tensors(recording, "attention.joined").front().shape, (Shape{1, 2, patches, 16}));
  EXPECT_EQ(tensors(recording, "q.fp32").front(), (Meta{{1, 2, patches, 16}, Element::fp32}));
  EXPECT_EQ(tensors(recording, "patches.by_window").size(), 1U);
  bool windows = false;
  for (const Meta& meta : tensors(recording, "attention.logsumexp"))
    windows |= meta.shape == Shape{batch, 2, 64};
  EXPECT_TRUE(windows);
}

}  // namespace
}  // namespace headroom::estimate
