// SPDX-License-Identifier: Apache-2.0
// What advice promises is what the plan says once the advice has been written into the job's file,
// tried on random small jobs: a seed gives the same jobs on every run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <random>
#include <string>

#include "estimate/plan.h"
#include "machine/temporary_folder.h"
#include "machine/user_files.h"
#include "report/plan_json.h"
#include "run/job_file.h"

namespace headroom::run {
namespace {

constexpr int rounds = 100;

const std::array configs = {
    R"({"model_type": "llama", "hidden_size": 96, "intermediate_size": 200, "num_hidden_layers": 3,
        "num_attention_heads": 6, "num_key_value_heads": 2, "vocab_size": 900})",
    R"({"model_type": "qwen2", "hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 4,
        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 2500,
        "tie_word_embeddings": true})",
    R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 3, "n_head": 4, "vocab_size": 700,
        "n_positions": 400})",
    R"({"model_type": "gemma2", "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 800,
        "final_logit_softcapping": 30.0, "attn_logit_softcapping": 50.0, "sliding_window": 64})",
    R"({"model_type": "llama", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 500,
        "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32}})",
};

class Random {
 public:
  explicit Random(std::uint32_t seed) : numbers_(seed) {}

  std::uint64_t upto(std::uint64_t max) { return numbers_() % max + 1; }
  bool one_in(std::uint64_t many) { return numbers_() % many == 0; }
  Json one_of(std::initializer_list<Json> choices) {
    return *(choices.begin() + static_cast<std::ptrdiff_t>(numbers_() % choices.size()));
  }

 private:
  std::mt19937 numbers_;
};

// Of each setting it is left open whether the job says it.
Json random_job(Random& random) {
  Json job;
  const auto maybe = [&](const char* table, const char* key, const Json& value) {
    if (random.one_in(2)) job[table][key] = value;
  };
  job["model"]["config"] = *parse_json(configs.at(random.upto(configs.size()) - 1));
  maybe("engine", "kind", random.one_of({"transformers", "transformers", "headroom"}));
  maybe("method", "kind", random.one_of({"full", "lora", "qlora", "inference"}));
  maybe("method", "base", random.one_of({"fp32", "fp32", "bf16", "fp16", "nf4"}));
  maybe("method", "rank", random.upto(16));
  maybe("compute", "dtype", random.one_of({"fp32", "fp32", "bf16", "fp16"}));
  maybe("compute", "autocast", random.one_of({true, false}));
  maybe("compute", "attention",
        random.one_of({"math", "eager", "sdpa-mask", "efficient", "flash"}));
  maybe("compute", "checkpointing", random.one_of({"none", "layer", "selective", "auto"}));
  maybe("compute", "residual", random.one_of({"fp32", "fp32", "bf16"}));
  maybe("compute", "embeddings", random.one_of({"fp32", "fp32", "bf16"}));
  maybe("optimizer", "kind", random.one_of({"adamw", "adamw", "adamw8bit", "sgd"}));
  maybe("optimizer", "foreach", random.one_of({true, false}));
  const std::uint64_t micro = random.upto(6);
  const std::uint64_t accumulate = random.upto(3);
  if (!random.one_in(4)) job["batch"]["micro"] = random.one_in(4) ? Json("auto") : Json(micro);
  maybe("batch", "accumulate", random.one_in(4) ? Json("auto") : Json(accumulate));
  if (random.one_in(3)) job["batch"]["global"] = micro * accumulate;
  job["batch"]["sequence"] = 16 * random.upto(24);
  maybe("device", "allocator", random.one_of({"torch", "torch-expandable", "headroom"}));
  job["device"]["context"] = 0;
  return job;
}

struct Planned {
  estimate::Plan plan;
  LoadedJob loaded;
};

Result<Planned> plan_of(const std::string& path, const JobFlags& flags,
                        const estimate::Asked& asked = {}) {
  HEADROOM_TRY(LoadedJob loaded, load_job(path, flags));
  HEADROOM_TRY(const estimate::Device device, estimate::find_device(loaded.job));
  HEADROOM_TRY(estimate::Plan plan, estimate::make_plan(loaded.job, loaded.model, device, asked));
  return Planned{std::move(plan), std::move(loaded)};
}

TEST(AdviceProperty, written_into_the_job_it_is_planned_as_it_was_promised) {
  const auto folder = machine::TemporaryFolder::make();
  ASSERT_TRUE(folder.has_value());
  const std::string path = folder->path() + "/job.json";
  Random random(14);
  int compared = 0;
  for (int round = 0; round < rounds; ++round) {
    Json job = random_job(random);
    ASSERT_TRUE(machine::write_file_atomic(path, job.dump()).has_value());
    const auto open = plan_of(path, {});
    if (!open) continue;  // It says what no engine does.
    const std::uint64_t share = 30 + 5 * random.upto(20);
    job["device"]["capacity"] =
        std::to_string(std::max<std::uint64_t>(8192, open->plan.device_bytes / 100 * share));
    ASSERT_TRUE(machine::write_file_atomic(path, job.dump()).has_value());
    const auto planned = plan_of(path, {}, {true, std::nullopt});
    ASSERT_TRUE(planned.has_value()) << planned.error().message;
    for (const estimate::Advice& advice : planned->plan.advice) {
      const Json change = report::to_json(advice.change);
      JobFlags flags;
      for (const auto& [key, value] : change.items()) flags.set(key, value, "");
      const auto again = plan_of(path, flags);
      const std::string what = job.dump() + "\n" + change.dump();
      ASSERT_TRUE(again.has_value()) << what << "\n" << again.error().message;
      EXPECT_EQ(again->plan.allocated_bytes, advice.allocated_bytes) << what;
      EXPECT_EQ(again->plan.device_bytes, advice.device_bytes) << what;
      EXPECT_EQ(again->plan.fits, true) << what;
      ++compared;
    }
  }
  EXPECT_GT(compared, 80);
}

TEST(AdviceProperty, what_was_automatic_is_planned_alike_where_it_is_written_out) {
  const auto folder = machine::TemporaryFolder::make();
  ASSERT_TRUE(folder.has_value());
  const std::string path = folder->path() + "/job.json";
  Random random(15);
  for (int round = 0; round < rounds / 2; ++round) {
    Json job = random_job(random);
    job["batch"]["micro"] = "auto";
    job["compute"]["checkpointing"] = "auto";
    job["device"]["capacity"] = std::to_string((std::uint64_t{1} << 20U) * 4 * random.upto(100));
    ASSERT_TRUE(machine::write_file_atomic(path, job.dump()).has_value());
    const auto planned = plan_of(path, {});
    if (!planned) continue;
    const estimate::Job& chosen = planned->plan.job;
    JobFlags flags;
    flags.set("batch.micro", *chosen.batch.micro, "");
    flags.set("batch.accumulate", *chosen.batch.accumulate, "");
    flags.set("compute.checkpointing", to_string(chosen.compute.checkpointing), "");
    const auto again = plan_of(path, flags);
    ASSERT_TRUE(again.has_value()) << job.dump() << "\n" << again.error().message;
    EXPECT_EQ(again->plan.allocated_bytes, planned->plan.allocated_bytes) << job.dump();
    EXPECT_EQ(again->plan.device_bytes, planned->plan.device_bytes) << job.dump();
    EXPECT_EQ(again->plan.fits, planned->plan.fits) << job.dump();
  }
}

TEST(AdviceProperty, the_largest_that_fits_is_planned_as_it_was_promised) {
  const auto folder = machine::TemporaryFolder::make();
  ASSERT_TRUE(folder.has_value());
  const std::string path = folder->path() + "/job.json";
  Random random(16);
  for (int round = 0; round < rounds / 4; ++round) {
    Json job = random_job(random);
    job["batch"] = {{"micro", random.upto(4)}, {"sequence", 16 * random.upto(8)}};
    job["compute"]["checkpointing"] = "none";
    job["device"]["capacity"] = std::to_string((std::uint64_t{1} << 20U) * 8 * random.upto(20));
    ASSERT_TRUE(machine::write_file_atomic(path, job.dump()).has_value());
    const auto planned = plan_of(path, {}, {false, estimate::Quantity::batch});
    if (!planned || !planned->plan.largest_fit || planned->plan.largest_fit->value == 0) continue;
    const estimate::LargestFit& largest = *planned->plan.largest_fit;
    JobFlags flags;
    flags.set("batch.micro", largest.value, "");
    const auto again = plan_of(path, flags);
    ASSERT_TRUE(again.has_value()) << job.dump() << "\n" << again.error().message;
    EXPECT_EQ(again->plan.allocated_bytes, largest.allocated_bytes) << job.dump();
    EXPECT_EQ(again->plan.device_bytes, largest.device_bytes) << job.dump();
    EXPECT_EQ(again->plan.fits, true) << job.dump();
  }
}

}  // namespace
}  // namespace headroom::run
