// SPDX-License-Identifier: Apache-2.0
// The sizes of a job from the many ways in which command lines, configurations and logs write them.
#include "estimate/job_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::estimate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::uint64_t> values(const JobDimensions& known, Dimension dimension) {
  std::vector<std::uint64_t> all;
  for (const Reading& reading : known.of(dimension)) all.push_back(reading.value);
  return all;
}

std::vector<std::uint64_t> values(std::string_view text, Dimension dimension) {
  return values(dimensions_in(text), dimension);
}

TEST(JobArguments, every_spelling_of_an_option_is_read) {
  for (const std::string_view text :
       {"python train.py --batch_size 64", "python train.py --batch-size=64",
        "torchrun train.py --per_device_train_batch_size 64", "./train.py --micro-batch-size 64",
        "python train.py -b 64", "accelerate launch t.py --batch_size '64' --lr 3e-4",
        R"(["python", "t.py", "--batch_size", "64"])", "python t.py --train.batch_size=64"}) {
    EXPECT_THAT(values(text, Dimension::batch), ElementsAre(64)) << text;
  }
}

TEST(JobArguments, every_manner_of_a_configuration_is_read) {
  for (const std::string_view text :
       {"hidden_size=2048", "hidden_size: 2048", R"(  "hidden_size": 2048,)",
        "'hidden_size': 2048}", "model.hidden_size=2048", "+model.hidden_size=2048",
        "hidden_size = 2048", "Namespace(lr=0.1, hidden_size=2048, seed=1)",
        "LlamaConfig(hidden_size=2048)", "  hidden_size ..................................... 2048",
        "| hidden_size | 2048 |", "  hidden_size ........ 2048........updated",
        "[rank0]: hiddenSize: 2048", "HIDDEN_SIZE=2048", "hidden size: 2_048",
        "hidden_size: 2048.0"}) {
    EXPECT_THAT(values(text, Dimension::hidden), ElementsAre(2048)) << text;
  }
}

TEST(JobArguments, what_is_no_such_number_is_passed_over) {
  for (const std::string_view text :
       {"--hidden_size", "--hidden_size auto", "hidden_size: null", "hidden_size=0.5",
        "hidden_size=-1", "log_softmax(dim=-1)", "dim=1", "hidden_size == 2048", "hidden_size 2048",
        "my_hidden_size=2048", "hidden_size=2048k", "hidden_size: 2024-09-09", "hidden_size: 12%",
        "hidden_size=99999999999999999999999", "--hidden_size --other 3", ""}) {
    EXPECT_THAT(values(text, Dimension::hidden), IsEmpty()) << text;
  }
}

TEST(JobArguments, the_known_command_is_read_whole) {
  const auto known = dimensions_in(
      "python main.py --num_layers 4 --model_dim 256 --hidden_dim 1024 --num_heads 16 --epochs 2 "
      "--max_training_length 1024 --batch_size 64 --validate_every 5");
  EXPECT_THAT(values(known, Dimension::layers), ElementsAre(4));
  EXPECT_THAT(values(known, Dimension::hidden), ElementsAre(256, 1024));
  EXPECT_THAT(values(known, Dimension::intermediate), ElementsAre(1024));
  EXPECT_THAT(values(known, Dimension::heads), ElementsAre(16));
  EXPECT_THAT(values(known, Dimension::sequence), ElementsAre(1024));
  EXPECT_THAT(values(known, Dimension::batch), ElementsAre(64));
  EXPECT_EQ(known.of(Dimension::batch).front().source, "--batch_size");
}

TEST(JobArguments, hidden_dim_keeps_both_meanings_and_is_doubtful) {
  const auto known = dimensions_in("--hidden_dim 1024");
  ASSERT_THAT(values(known, Dimension::hidden), ElementsAre(1024));
  ASSERT_THAT(values(known, Dimension::intermediate), ElementsAre(1024));
  EXPECT_EQ(known.of(Dimension::hidden).front().doubt, 1U);
}

TEST(JobArguments, the_surer_name_comes_first) {
  const auto known = dimensions_in("max_position_embeddings: 32768\n--max_seq_length 2048\n");
  EXPECT_THAT(values(known, Dimension::sequence), ElementsAre(2048, 32768));
  EXPECT_EQ(known.of(Dimension::sequence).front().source, "--max_seq_length in line 2");
}

TEST(JobArguments, the_batch_of_all_gpus_is_not_the_batch_of_one) {
  const auto known = dimensions_in(
      "  Instantaneous batch size per device = 8\n"
      "  Total train batch size (w. parallel, distributed & accumulation) = 64\n"
      "  Total batch size = 64\n--global_batch_size 512\n");
  EXPECT_THAT(values(known, Dimension::batch), ElementsAre(8));
}

TEST(JobArguments, llama_cpp_counts_tokens) {
  const auto known = dimensions_in("llama-server -m model.gguf -c 8192 -b 2048 -ub 512 -np 4");
  EXPECT_THAT(values(known, Dimension::cache_length), ElementsAre(8192));
  EXPECT_THAT(values(known, Dimension::tokens), ElementsAre(512, 2048));
  EXPECT_THAT(values(known, Dimension::batch), ElementsAre(4));
}

TEST(JobArguments, the_context_a_model_was_trained_with_is_not_the_one_in_use) {
  const auto known =
      dimensions_in("print_info: n_ctx_train      = 131072\nllama_context: n_ctx = 4096");
  EXPECT_THAT(values(known, Dimension::cache_length), ElementsAre(4096));
}

TEST(JobArguments, sizes_of_images_are_read) {
  const auto expect = [](std::string_view text, std::uint64_t height, std::uint64_t width) {
    EXPECT_THAT(values(text, Dimension::height), ElementsAre(height)) << text;
    EXPECT_THAT(values(text, Dimension::width), ElementsAre(width)) << text;
  };
  expect("--height 768 --width 512", 768, 512);
  expect("python scripts/txt2img.py --H 768 --W 512", 768, 512);
  expect("--resolution 1024", 1024, 1024);
  expect("resolution: [768, 512]", 768, 512);
  expect("--resolution=512x768", 768, 512);
  expect("Steps: 20, Sampler: Euler a, Size: 512x768, Model: x", 768, 512);
  expect("Closest bucket size: 672x384", 384, 672);
  EXPECT_THAT(values("Size: 4096", Dimension::height), IsEmpty());
}

TEST(JobArguments, the_type_of_the_computation_is_read) {
  EXPECT_EQ(dimensions_in("python t.py --bf16 --batch_size 4").compute, DType::bf16);
  EXPECT_EQ(dimensions_in("bf16=False, fp16=True").compute, DType::fp16);
  EXPECT_EQ(dimensions_in("--mixed_precision=bf16").compute, DType::bf16);
  EXPECT_EQ(dimensions_in("torch_dtype: torch.float32").compute, DType::fp32);
  EXPECT_EQ(dimensions_in("torch_dtype: float32\n--bf16 True").compute, DType::bf16);
  EXPECT_EQ(dimensions_in("dtype=auto").compute, std::nullopt);
  EXPECT_EQ(dimensions_in("python t.py").compute, std::nullopt);
}

TEST(JobArguments, a_bucket_may_be_written_with_an_exponent) {
  EXPECT_THAT(values(R"("reduce_bucket_size": 5e8)", Dimension::bucket), ElementsAre(500000000));
  EXPECT_THAT(values("reduce_bucket_size: 5e+08", Dimension::bucket), ElementsAre(500000000));
  EXPECT_THAT(values("reduce_bucket_size: 5e99", Dimension::bucket), IsEmpty());
}

TEST(JobArguments, what_is_left_open_is_named) {
  EXPECT_THAT(needed(dimensions_in("--batch_size 4 --seq_len 512")),
              ElementsAre(Dimension::heads, Dimension::hidden, Dimension::vocabulary));
  EXPECT_THAT(needed(dimensions_in("--height 512 --width 512")), IsEmpty());
}

TEST(JobDimensions, what_follows_is_derived_and_what_was_known_stays) {
  const auto all = with_derived(
      dimensions_in("--hidden_size 4096 --num_heads 32 --num_kv_heads 8 --seq_len 2048"));
  EXPECT_THAT(values(all, Dimension::head_dim), ElementsAre(128));
  EXPECT_THAT(values(all, Dimension::kv_heads), ElementsAre(8));
  EXPECT_THAT(values(all, Dimension::qkv_size), ElementsAre(48 * 128));
  EXPECT_THAT(values(all, Dimension::intermediate), ElementsAre(16384, 11008));
  EXPECT_EQ(all.of(Dimension::intermediate).front().doubt, 1U);
  EXPECT_THAT(with_derived(dimensions_in("--vocab_size 1000")).of(Dimension::vocabulary),
              ::testing::SizeIs(1));
}

}  // namespace
}  // namespace headroom::estimate
