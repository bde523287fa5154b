// SPDX-License-Identifier: Apache-2.0
// Jobs whose model is a weight file, and models in place of a job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "estimate/device.h"
#include "estimate/files/safetensors_header.h"
#include "estimate/files/testing/gguf_bytes.h"
#include "estimate/files/testing/onnx_bytes.h"
#include "estimate/files/weight_file.h"
#include "estimate/plan.h"
#include "run/job_file.h"

namespace headroom::run {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
namespace testing = estimate::testing;

class LoadJob : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }

  static LoadedJob load(const std::string& path) {
    auto job = load_job(path);
    EXPECT_TRUE(job) << (job ? "" : job.error().message);
    return job ? *std::move(job) : LoadedJob{};
  }

  static estimate::Plan plan(const LoadedJob& job) {
    const auto device = estimate::find_device(job.job);
    EXPECT_TRUE(device);
    auto plan = estimate::make_plan(job.job, job.model, *device);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
    return plan ? *std::move(plan) : estimate::Plan{};
  }

  std::filesystem::path folder_;
};

TEST_F(LoadJob, a_gguf_file_is_planned_with_exactly_its_bytes) {
  const testing::GgufBytes bytes = testing::tiny_llama();
  const LoadedJob job = load(write("tiny.gguf", bytes.file()));
  EXPECT_EQ(job.job.method.kind, estimate::MethodKind::inference);
  EXPECT_EQ(job.model.main().layers, 2U);
  EXPECT_EQ(job.model.vocabulary, 96U);
  EXPECT_THAT(job.model.notes, Contains(HasSubstr("no job was given")));
  ASSERT_NE(job.model.weights, nullptr);
  EXPECT_EQ(plan(job).weights_bytes, job.model.weights->bytes);
}

TEST_F(LoadJob, a_gguf_model_in_parts_is_read_whole) {
  const auto part = [](std::uint32_t number, const char* tensor) {
    testing::GgufBytes bytes = number == 1 ? testing::tiny_llama() : testing::GgufBytes();
    bytes.u32("split.no", number - 1).u32("split.count", 2).tensor(tensor, {32}, 8, 34);
    return bytes.file();
  };
  write("m-00001-of-00002.gguf", part(1, "one"));
  const std::string second = write("m-00002-of-00002.gguf", part(2, "output.weight"));
  const LoadedJob job = load(second);
  ASSERT_NE(job.model.weights, nullptr);
  EXPECT_EQ(job.model.weights->tensors.size(), 6U);
  EXPECT_EQ(job.config["tie_word_embeddings"], false);
  std::filesystem::remove(second);
  const auto missing = load_job((folder_ / "m-00001-of-00002.gguf").string());
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("m-00002-of-00002.gguf"));
}

TEST_F(LoadJob, an_onnx_file_is_planned_by_its_graph) {
  write("faces.onnx", testing::onnx_file(testing::tiny_detector()));
  const LoadedJob job = load(write("job.toml",
                                   "[model]\nconfig = \"faces.onnx\"\n[method]\nkind = "
                                   "\"inference\"\n[batch]\nmicro = 3\n"));
  const estimate::Plan planned = plan(job);
  EXPECT_EQ(planned.components[estimate::Component::activations],
            3U * 4 * (3 * 64 * 64 + 8 * 64 * 64 + 8 * 32 * 32));
  EXPECT_THAT(job.model.notes, Contains(HasSubstr("its size \"batch\" is batch.micro = 3")));
}

TEST_F(LoadJob, a_folders_weights_are_read_from_its_index) {
  const auto file = [](const char* name) {
    std::vector<estimate::NamedSafetensor> entries = {
        {name, {.dtype = "F32", .shape = {8}, .bytes = 32}}};
    return estimate::make_safetensors_header(entries, {}) + std::string(32, 'x');
  };
  const std::string config =
      R"({"model_type":"llama","hidden_size":64,"intermediate_size":128,"num_hidden_layers":2,)"
      R"("num_attention_heads":4,"vocab_size":256})";
  write("m/config.json", config);
  write("m/a.safetensors", file("w"));
  write("m/b.safetensors", file("v"));
  write("m/model.safetensors.index.json",
        R"({"weight_map":{"w":"a.safetensors","v":"b.safetensors"}})");
  const LoadedJob job = load((folder_ / "m").string());
  ASSERT_NE(job.model.weights, nullptr);
  EXPECT_EQ(job.model.weights->bytes, 64U);
  EXPECT_EQ(plan(job).weights_bytes, 32U);  // Loaded as bf16.
  // A part that is not there yet makes the plan less exact, not impossible.
  std::filesystem::remove(folder_ / "m" / "b.safetensors");
  const LoadedJob partly = load((folder_ / "m").string());
  EXPECT_EQ(partly.model.weights, nullptr);
  EXPECT_THAT(partly.model.notes, Contains(HasSubstr("b.safetensors")));
}

TEST_F(LoadJob, an_index_does_not_lead_out_of_its_folder) {
  write("m/config.json", R"({"model_type":"llama","hidden_size":64,"intermediate_size":128,)"
                         R"("num_hidden_layers":2,"num_attention_heads":4,"vocab_size":256})");
  write("m/model.safetensors.index.json", R"({"weight_map":{"w":"../../etc/passwd"}})");
  const LoadedJob job = load((folder_ / "m").string());
  EXPECT_EQ(job.model.weights, nullptr);
  EXPECT_THAT(job.model.notes, Contains(HasSubstr("the name of a file in this folder")));
}

TEST_F(LoadJob, a_folder_without_a_config_is_its_one_weight_file) {
  write("m/README.md", "");
  const std::string file = write("m/model.gguf", testing::tiny_llama().file());
  EXPECT_EQ(load((folder_ / "m").string()).model.weights->format, estimate::WeightFileFormat::gguf);
  write("m/other.gguf", testing::tiny_llama().file());
  const auto several = load_job((folder_ / "m").string());
  ASSERT_FALSE(several);
  EXPECT_THAT(several.error().message, HasSubstr("found model.gguf, other.gguf"));
}

TEST_F(LoadJob, a_broken_weight_file_is_an_error_with_its_path) {
  const auto job = load_job(write("broken.gguf", "GGUF"));
  ASSERT_FALSE(job);
  EXPECT_THAT(job.error().message, HasSubstr("broken.gguf"));
  EXPECT_FALSE(job.error().next.empty());
}

const char* const small_llama =
    R"({"model_type":"llama","hidden_size":64,"intermediate_size":128,"num_hidden_layers":2,)"
    R"("num_attention_heads":4,"vocab_size":256)";

TEST_F(LoadJob, its_own_engine_plans_no_positions_that_its_trainer_refuses) {
  const auto wrong = [this](const std::string& scaling, const std::string& engine) {
    write("config.json", small_llama + (", \"rope_scaling\": " + scaling) + "}");
    const auto job = load_job(write("job.toml",
                                    "[model]\nconfig = \".\"\n[batch]\nsequence = 4096\n[engine]\n"
                                    "kind = \"" +
                                        engine + "\"\n"));
    return job ? "none" : job.error().message;
  };
  EXPECT_THAT(wrong(R"({"type":"dynamic","factor":2})", "headroom"),
              HasSubstr("batch.sequence: expected at most 2048, up to which"));
  EXPECT_THAT(wrong(R"({"type":"linear"})", "headroom"), HasSubstr("rope_scaling.factor"));
  EXPECT_EQ(wrong(R"({"type":"linear","factor":4})", "headroom"), "none");
  EXPECT_EQ(wrong(R"({"type":"dynamic","factor":2})", "transformers"), "none");
}

TEST_F(LoadJob, modules_to_save_of_another_family_are_passed_over) {
  write("config.json", small_llama + std::string("}"));
  const auto saved = [this](const std::string& names) {
    return load(write("job.toml",
                      "[model]\nconfig = \".\"\n[method]\nkind = \"lora\"\n"
                      "modules_to_save = " +
                          names + "\n"));
  };
  const LoadedJob other = saved("[\"wte\"]");
  EXPECT_THAT(other.job.method.modules_to_save, ::testing::IsEmpty());
  EXPECT_THAT(other.model.notes, Contains(HasSubstr("no module of the name \"wte\"")));
  EXPECT_EQ(saved("[\"wte\", \"embed_tokens\"]").job.method.modules_to_save,
            std::vector{estimate::Target::embedding});
}

}  // namespace
}  // namespace headroom::run
