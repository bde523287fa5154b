// SPDX-License-Identifier: Apache-2.0
#include "estimate/job.h"

#include <gtest/gtest.h>

#include "base/document.h"
#include "estimate/model_config.h"

namespace headroom::estimate {
namespace {

Result<Job> job_from(const std::string& text) {
  const auto document = parse_document(text);
  return document ? parse_job(*document) : Result<Job>(document.error());
}

std::string complaint(const std::string& text) {
  const auto job = job_from(text);
  return job ? "no complaint" : job.error().message + " | " + job.error().next;
}

TEST(Job, defaults_are_those_of_the_contract) {
  const auto job =
      job_from("[model]\nconfig = \"m\"\n[compute]\ndtype = \"fp32\"\n[method]\nrank = 16\n");
  ASSERT_TRUE(job.has_value()) << job.error().message;
  EXPECT_EQ(job->method.base, WeightFormat::fp32);
  EXPECT_EQ(job->method.alpha, 32.0);
  EXPECT_EQ(job->method.targets.size(), 7U);
  EXPECT_EQ(job->engine.kind, EngineKind::transformers);
  EXPECT_EQ(job->device.allocator, "torch");
  EXPECT_EQ(job->batch.sequence, 1024U);
  EXPECT_EQ(job->device.capacity, std::nullopt);
}

TEST(Job, a_release_is_one_or_refused) {
  const auto of = [](const std::string& release) {
    return job_from("[model]\nconfig = \"m\"\n[engine]\ntransformers = \"" + release + "\"\n");
  };
  for (const char* good : {"4.48", "4.57.1", "5", "5.0.0rc1", "4.57.0.dev0", "newest"}) {
    ASSERT_TRUE(of(good).has_value()) << good;
    EXPECT_EQ(of(good)->engine.transformers, good);
  }
  EXPECT_EQ(of("v4.48")->engine.transformers, "4.48");
  for (const char* bad : {">=4.48", "transformers==4.48", "banana", "-1.x", "", "4..8", "4.x"})
    EXPECT_FALSE(of(bad).has_value()) << bad;
}

TEST(Job, unknown_key_is_named_with_its_line_and_the_nearest_known_one) {
  const std::string text = complaint("[model]\nconfig = \"m\"\n[batch]\nmicor = 4\n");
  EXPECT_NE(text.find("line 4: batch.micor: unknown key"), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean micro?"), std::string::npos) << text;
}

TEST(Job, wrong_values_say_what_was_expected_and_found) {
  EXPECT_NE(complaint("[model]\nconfig=\"m\"\n[batch]\nmicro = 0\n")
                .find("line 4: batch.micro: expected a whole"),
            std::string::npos);
  EXPECT_NE(complaint("[model]\nconfig=\"m\"\n[batch]\nmicro = -3\n").find("found -3"),
            std::string::npos);
  EXPECT_NE(complaint("[model]\nconfig=\"m\"\n[method]\nkind = \"lroa\"\n").find("kind = \"lora\""),
            std::string::npos);
  EXPECT_NE(complaint("[model]\nconfig=\"m\"\n[device]\ncapacity = \"12 parsecs\"\n")
                .find("device.capacity"),
            std::string::npos);
  EXPECT_NE(complaint("[batch]\nmicro = 1\n").find("model.config or model.name"),
            std::string::npos);
  EXPECT_NE(complaint("batch = 3\n[model]\nconfig=\"m\"\n").find("expected a table"),
            std::string::npos);
}

TEST(Job, a_whole_number_may_be_spelled_in_any_way) {
  const auto job = job_from(
      "[model]\nconfig=\"m\"\n[batch]\nmicro = 1e1\nsequence = 2048.0\n[device]\ncapacity = 1e9\n"
      "[method]\ngroup_size = -1.0\n");
  ASSERT_TRUE(job.has_value()) << job.error().message;
  EXPECT_EQ(job->batch.micro, 10U);
  EXPECT_EQ(job->batch.sequence, 2048U);
  EXPECT_EQ(job->device.capacity, Bytes{1000000000});
  EXPECT_EQ(job->method.group_size, -1);
}

TEST(Job, a_number_that_is_not_whole_is_shown_with_what_makes_it_so) {
  const auto found = [](const std::string& number) {
    return complaint("[model]\nconfig=\"m\"\n[batch]\nmicro = " + number + "\n");
  };
  EXPECT_NE(found("1.5").find("found 1.5"), std::string::npos) << found("1.5");
  EXPECT_NE(found("1e300").find("found 1e+300"), std::string::npos) << found("1e300");
  EXPECT_NE(found("-1e1").find("found -10"), std::string::npos) << found("-1e1");
  EXPECT_NE(found("inf").find("found inf"), std::string::npos) << found("inf");
}

TEST(Job, global_batch_must_agree_with_micro_and_accumulate) {
  EXPECT_TRUE(
      job_from("[model]\nconfig=\"m\"\n[batch]\nmicro=4\naccumulate=8\nglobal=32\n").has_value());
  EXPECT_FALSE(
      job_from("[model]\nconfig=\"m\"\n[batch]\nmicro=4\naccumulate=8\nglobal=31\n").has_value());
  EXPECT_TRUE(
      job_from("[model]\nconfig=\"m\"\n[batch]\nmicro=\"auto\"\naccumulate=\"auto\"\nglobal=31\n")
          .has_value());
}

TEST(Job, what_is_left_out_follows_from_the_global_batch) {
  const auto job = job_from("[model]\nconfig=\"m\"\n[batch]\nmicro=4\nglobal=32\n");
  ASSERT_TRUE(job.has_value()) << job.error().message;
  EXPECT_EQ(job->batch.accumulate, std::nullopt) << "for the planner to derive";
  EXPECT_NE(complaint("[model]\nconfig=\"m\"\n[batch]\nmicro=4\nglobal=30\n")
                .find("line 5: batch.global: expected a multiple of micro = 4, found 30"),
            std::string::npos);
}

TEST(Job, numbers_have_a_range_and_projections_are_named_once) {
  for (const char* text :
       {"[batch]\nmicro = 9000000000000000000\n", "[batch]\nsequence = 16777217\n",
        "[method]\nrank = 65537\n", "[optimizer]\nlearning_rate = nan\n",
        "[method]\ntargets = [\"q\", \"q\"]\n"}) {
    EXPECT_FALSE(job_from(std::string("[model]\nconfig=\"m\"\n") + text).has_value()) << text;
  }
}

TEST(Job, size_may_be_a_number_of_bytes) {
  const auto job = job_from("[model]\nconfig=\"m\"\n[device]\ncapacity = 1048576\n");
  ASSERT_TRUE(job.has_value()) << job.error().message;
  EXPECT_EQ(job->device.capacity, 1_MiB);
}

TEST(Job, long_wrong_value_is_shown_in_part) {
  const std::string text =
      complaint("[model]\nconfig=\"m\"\n[batch]\nmicro = \"" + std::string(100000, 'x') + "\"\n");
  EXPECT_LT(text.size(), 300U) << text;
}

TEST(ModelConfig, parameters_of_qwen2_5_3b_are_exact) {
  const auto model = parse_model_config(*parse_json(R"({"model_type": "qwen2", "hidden_size": 2048,
      "intermediate_size": 11008, "num_hidden_layers": 36, "num_attention_heads": 16,
      "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": true})"));
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_EQ(model->parameters(), 3085938688U);
  EXPECT_EQ(model->head_dim, 128U);
}

TEST(ModelConfig, missing_field_is_named) {
  const auto model =
      parse_model_config(*parse_json(R"({"model_type": "llama", "hidden_size": 64})"));
  ASSERT_FALSE(model.has_value());
  EXPECT_NE(model.error().message.find("intermediate_size"), std::string::npos);
}

TEST(ModelConfig, impossible_shapes_are_refused) {
  const char* text = R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
      "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 3, "vocab_size": 300})";
  EXPECT_FALSE(parse_model_config(*parse_json(text)).has_value());
  EXPECT_FALSE(parse_model_config(*parse_json("[1]")).has_value());
}

TEST(ModelConfig, heads_without_a_size_are_refused_unless_it_is_given) {
  const std::string text = R"({"model_type": "qwen2", "hidden_size": 4, "intermediate_size": 8,
      "num_hidden_layers": 1, "num_attention_heads": 8, "vocab_size": 30)";
  const auto model = parse_model_config(*parse_json(text + "}"));
  ASSERT_FALSE(model.has_value());
  EXPECT_NE(model.error().message.find("hidden_size"), std::string::npos);
  EXPECT_TRUE(parse_model_config(*parse_json(text + ", \"head_dim\": 2}")).has_value());
}

TEST(Job, a_capacity_without_its_unit_is_asked_for_it) {
  const auto job = parse_job(*parse_document("[model]\nname = \"x\"\n[device]\ncapacity = 16\n"));
  ASSERT_FALSE(job);
  EXPECT_NE(job.error().next.find("16GiB"), std::string::npos);
}

TEST(Job, schedule_warmup_and_clipping_are_read) {
  const std::string start = "[model]\nconfig = \"m\"\n[optimizer]\n";
  const auto plain = job_from(start);
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->optimizer.schedule, ScheduleKind::constant);
  EXPECT_FALSE(plain->optimizer.max_grad_norm.has_value());
  const auto job =
      job_from(start + "schedule = \"cosine\"\nwarmup_ratio = 0.03\nmax_grad_norm = 1\n");
  ASSERT_TRUE(job.has_value()) << job.error().message;
  EXPECT_EQ(job->optimizer.schedule, ScheduleKind::cosine);
  EXPECT_EQ(job->optimizer.warmup_ratio, 0.03);
  EXPECT_EQ(job->optimizer.max_grad_norm, 1.0);
  EXPECT_EQ(job_from(start + "schedule = \"linear\"\nwarmup_steps = 7\n")->optimizer.warmup_steps,
            7U);
}

TEST(Job, a_warmup_that_would_be_ignored_or_is_not_given_is_refused) {
  const std::string start = "[model]\nconfig = \"m\"\n[optimizer]\n";
  EXPECT_NE(complaint(start + "warmup_steps = 5\n").find("constant_with_warmup"),
            std::string::npos);
  EXPECT_NE(complaint(start + "schedule = \"constant_with_warmup\"\n").find("found none"),
            std::string::npos);
  EXPECT_NE(complaint(start + "schedule = \"linear\"\nwarmup_steps = 5\nwarmup_ratio = 0.1\n")
                .find("leave one of the two out"),
            std::string::npos);
  EXPECT_NE(complaint(start + "max_grad_norm = 0\n").find("leave it out"), std::string::npos);
  EXPECT_NE(complaint(start + "schedule = \"polynomial\"\n").find("linear, cosine"),
            std::string::npos);
}

}  // namespace
}  // namespace headroom::estimate
