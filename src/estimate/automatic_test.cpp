// SPDX-License-Identifier: Apache-2.0
#include "estimate/automatic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimate/search.h"

namespace headroom::estimate {
namespace {

using ::testing::HasSubstr;

const char* const small =
    R"({"model_type": "llama", "hidden_size": 256, "intermediate_size": 704,
    "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 8, "vocab_size": 8000})";

// A job of the trainer's with a batch of 16 samples of 256 tokens.
Result<Choice> choose(const std::string& keys, const std::string& capacity) {
  const std::string device = capacity.empty() ? "" : "[device]\ncapacity = \"" + capacity + "\"\n";
  auto document =
      *parse_document("[model]\nconfig = \"x\"\n[engine]\nkind = \"headroom\"\n" + keys + device);
  const Automatic automatic = take_automatic(document.value);
  HEADROOM_TRY(const Job job, parse_job(document));
  HEADROOM_TRY(const Device found, find_device(job));
  HEADROOM_TRY(const Architecture model, parse_architecture(*parse_json(small)));
  return choose_settings(document, automatic, model, found);
}

const char* const all_open =
    "[compute]\ndtype = \"auto\"\nattention = \"auto\"\nloss = \"auto\"\ncheckpointing = \"auto\"\n"
    "[batch]\nmicro = \"auto\"\naccumulate = \"auto\"\nglobal = 16\nsequence = 256\n";

TEST(Automatic, the_words_that_parse_job_has_not_are_taken_out) {
  auto document = *parse_document(all_open);
  const Automatic automatic = take_automatic(document.value);
  EXPECT_TRUE(automatic.dtype && automatic.attention && automatic.loss && automatic.checkpointing &&
              automatic.micro);
  EXPECT_EQ(document.value["compute"], Json({{"checkpointing", "auto"}}));
  EXPECT_EQ(document.value["batch"]["micro"], "auto");
  for (Json other : {Json(), Json(3), Json{{"compute", 3}}, Json{{"compute", {{"dtype", 3}}}}}) {
    const Json before = other;
    EXPECT_FALSE(take_automatic(other).any());
    EXPECT_EQ(other, before);
  }
}

TEST(Automatic, with_room_for_everything_nothing_is_given_up) {
  const auto choice = choose(all_open, "64GiB");
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(choice->tried.size(), 24U);
  EXPECT_EQ(choice->job.compute.dtype, DType::fp32);
  EXPECT_EQ(choice->job.compute.attention, Attention::efficient);
  EXPECT_EQ(choice->job.compute.checkpointing, Checkpointing::none);
  EXPECT_EQ(choice->job.batch.micro, 16U);
  EXPECT_EQ(choice->job.batch.accumulate, 1U);
}

TEST(Automatic, the_chosen_one_fits_and_no_other_that_fits_is_faster) {
  for (const char* capacity : {"120MiB", "180MiB", "300MiB", "600MiB", "2GiB"}) {
    const auto choice = choose(all_open, capacity);
    ASSERT_TRUE(choice) << choice.error().message;
    ASSERT_TRUE(choice->tried.front().fits) << capacity;
    EXPECT_EQ(*choice->job.batch.micro * *choice->job.batch.accumulate, 16U) << capacity;
    for (std::size_t i = 1; i < choice->tried.size(); ++i) {
      const Tried& other = choice->tried[i];
      if (other.fits) {
        EXPECT_LE(other.relative_speed, 1.03) << capacity;
      }
      EXPECT_GE(choice->tried[i - 1].fits, other.fits) << "what does not fit comes last";
    }
  }
}

// The types' speeds on paper differ, and the trainer's do not: neither decides between what is
// recomputed and a smaller micro-batch.
TEST(Automatic, in_bf16_none_of_the_rejected_that_fit_is_faster) {
  for (const char* capacity : {"70MiB", "100MiB", "150MiB"}) {
    for (const char* keys : {"[compute]\ndtype = \"bf16\"\n",
                             "[compute]\ndtype = \"auto\"\n[optimizer]\nmaster = "
                             "\"fp32\"\nkind = \"adamw8bit\"\n"}) {
      std::string open = keys;
      open.insert(open.find("dtype"), "checkpointing = \"auto\"\nattention = \"auto\"\n");
      const auto choice = choose(
          open + "[batch]\nmicro = \"auto\"\naccumulate = \"auto\"\nglobal = 16\nsequence = 256\n",
          capacity);
      ASSERT_TRUE(choice) << choice.error().message;
      EXPECT_EQ(choice->job.compute.dtype, DType::bf16);
      for (const Tried& tried : choice->tried)
        EXPECT_TRUE(!tried.fits || tried.relative_speed <= 1.02) << capacity;
    }
  }
}

TEST(Automatic, less_room_never_gives_a_larger_micro_batch) {
  double before = 0;
  for (const char* capacity : {"120MiB", "180MiB", "300MiB", "600MiB", "2GiB"}) {
    const auto choice = choose(all_open, capacity);
    ASSERT_TRUE(choice);
    const auto micro = static_cast<double>(*choice->job.batch.micro);
    EXPECT_GE(micro, before) << capacity;
    before = micro;
  }
}

TEST(Automatic, what_was_given_stays) {
  const auto choice = choose(
      "[compute]\ndtype = \"bf16\"\nattention = \"math\"\ncheckpointing = \"auto\"\n"
      "[batch]\nmicro = 2\naccumulate = 4\nsequence = 256\n",
      "64GiB");
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(choice->tried.size(), 3U);
  EXPECT_EQ(choice->job.compute.dtype, DType::bf16);
  EXPECT_EQ(choice->job.compute.attention, Attention::math);
  EXPECT_EQ(choice->job.batch.micro, 2U);
  EXPECT_EQ(choice->job.compute.checkpointing, Checkpointing::none);
  EXPECT_EQ(to_line(*choice), "auto: checkpointing = \"none\": the fastest of 3 that fit");
}

TEST(Automatic, where_nothing_fits_it_is_what_needs_least) {
  const auto choice = choose(all_open, "40MiB");
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_FALSE(choice->tried.front().fits);
  for (const Tried& tried : choice->tried)
    EXPECT_GE(tried.allocated_bytes, choice->tried.front().allocated_bytes);
  EXPECT_THAT(to_line(*choice), HasSubstr("nothing fits, and this needs least"));
}

// The same with what may be offloaded.
std::string all_open_and_offloaded() {
  const std::string open = all_open;
  return open.substr(0, 10) + "activation_offloading = \"auto\"\n" + open.substr(10) +
         "[optimizer]\noffload = \"auto\"\n";
}

TEST(Automatic, only_where_nothing_else_fits_is_anything_offloaded) {
  const std::string keys = all_open_and_offloaded();
  const auto roomy = choose(keys, "180MiB");
  ASSERT_TRUE(roomy) << roomy.error().message;
  EXPECT_TRUE(roomy->tried.front().fits);
  EXPECT_EQ(roomy->tried.size(), 24U);
  EXPECT_FALSE(roomy->job.optimizer.offload || roomy->job.compute.activation_offloading);
  const auto without = choose(all_open, "40MiB");
  EXPECT_FALSE(without->tried.front().fits);
  const auto choice = choose(keys, "40MiB");
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_TRUE(choice->tried.front().fits);
  EXPECT_TRUE(choice->job.optimizer.offload);
  for (const Tried& tried : choice->tried) EXPECT_TRUE(!tried.fits || tried.relative_speed <= 1.02);
  EXPECT_EQ(to_json(*choice)["chosen"]["offload"], true);
  EXPECT_THAT(to_line(*choice), HasSubstr("offload = true"));
  const auto hopeless = choose(keys, "4MiB");
  EXPECT_FALSE(hopeless->tried.front().fits);
  EXPECT_TRUE(hopeless->job.optimizer.offload && hopeless->job.compute.activation_offloading);
}

TEST(Automatic, without_a_capacity_it_is_what_is_preferred) {
  const auto choice = choose(all_open, "");
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(choice->job.compute.dtype, DType::fp32);
  EXPECT_EQ(choice->job.batch.micro, 1U);
  EXPECT_THAT(to_line(*choice), HasSubstr("no capacity is known"));
  EXPECT_TRUE(to_json(*choice)["chosen"]["fits"].is_null());
}

TEST(Automatic, the_report_has_the_choice_and_what_was_not_chosen) {
  const auto choice = choose(all_open, "180MiB");
  ASSERT_TRUE(choice);
  const Json json = to_json(*choice);
  EXPECT_EQ(json["keys"].size(), 5U);
  EXPECT_EQ(json["chosen"]["fits"], true);
  EXPECT_EQ(json["chosen"]["relative_speed"], 1.0);
  EXPECT_EQ(json["rejected"].size(), 23U);
  EXPECT_THAT(to_line(*choice), HasSubstr("the fastest of 24 that fit"));
}

TEST(Automatic, other_mistakes_of_the_job_are_told_as_ever) {
  const auto choice =
      choose("[compute]\ndtype = \"auto\"\nloss = \"triton\"\n[batch]\nsequence = 64\n", "1GiB");
  ASSERT_FALSE(choice);
  EXPECT_THAT(choice.error().message, HasSubstr("triton"));
}

}  // namespace
}  // namespace headroom::estimate
