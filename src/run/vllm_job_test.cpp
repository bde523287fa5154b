// SPDX-License-Identifier: Apache-2.0
// Which commands are vLLM's, and how model and device come out of them and out of a job file.
#include "run/vllm_job.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace headroom::run {
namespace {

class VllmJobs : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("vllm-job-" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_ / "model");
    write("model/config.json",
          R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
              "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 1000,
              "max_position_embeddings": 512})");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }

  Result<VllmJob> load(const std::string& text, const JobFlags& flags = {}) const {
    write("job.toml", text);
    HEADROOM_TRY(const JobFile file, read_job_file((folder_ / "job.toml").string()));
    EXPECT_EQ(file.engine(), "vllm");
    return load_vllm_job(file, flags);
  }

  std::filesystem::path folder_;
};

TEST_F(VllmJobs, commands_are_known_by_their_words) {
  EXPECT_TRUE(is_vllm_command({"vllm", "serve", "m"}));
  EXPECT_TRUE(is_vllm_command({"VLLM_USE_V1=0", "/opt/bin/vllm", "serve"}));
  EXPECT_TRUE(is_vllm_command({"python3", "-m", "vllm.entrypoints.openai.api_server"}));
  EXPECT_FALSE(is_vllm_command({"vllm", "bench", "m"}));
  EXPECT_FALSE(is_vllm_command({"python3", "-m", "torch.distributed.run"}));
  EXPECT_FALSE(is_vllm_command({"=vllm", "serve"}));
  EXPECT_FALSE(is_vllm_command({}));
}

TEST_F(VllmJobs, a_folder_is_a_model_and_variables_are_read) {
  const auto job =
      load_vllm_command({"VLLM_USE_V1=0", "vllm", "serve", (folder_ / "model").string(), "--port",
                         "80", "--headroom-version", "0.8.5"},
                        {});
  ASSERT_TRUE(job.has_value()) << job.error().message;
  EXPECT_EQ(job->options.use_v1, false);
  EXPECT_EQ(job->loaded.model.vocabulary, 1000U);
  ASSERT_EQ(job->notes.size(), 1U);
  EXPECT_EQ(job->notes.front(), "Ignored: --port.");
}

TEST_F(VllmJobs, mistakes_name_what_was_expected) {
  EXPECT_FALSE(load_vllm_command({"vllm", "serve"}, {}).has_value());
  EXPECT_FALSE(load_vllm_command({"vllm", "serve", "model.gguf"}, {}).has_value());
  EXPECT_FALSE(load_vllm_command({"VLLM_USE_V1=maybe", "vllm", "serve", "m"}, {}).has_value());
  EXPECT_FALSE(load("[engine]\nkind = \"vllm\"\n").has_value());
  EXPECT_FALSE(load("[model]\nconfig = 3\n[engine]\nkind = \"vllm\"\n").has_value());
  // A folder that is not there is no model of the table.
  const auto missing = load("[model]\nconfig = \"gone\"\n[engine]\nkind = \"vllm\"\n");
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message.find("gone/config.json"), std::string::npos)
      << missing.error().message;
}

TEST_F(VllmJobs, a_word_with_its_value_in_it_does_not_take_the_model) {
  const auto job = load_vllm_command({"vllm", "serve", "-O3", (folder_ / "model").string()}, {});
  ASSERT_TRUE(job.has_value()) << job.error().message;
  EXPECT_EQ(job->notes.front(), "Ignored: -O3.");
}

TEST_F(VllmJobs, a_job_file_is_read_with_its_device_and_flags_win) {
  const std::string text =
      "[model]\nconfig = \"model\"\n[engine]\nkind = \"vllm\"\nmax-model-len = 256\n"
      "[device]\ncapacity = \"8GiB\"\n";
  auto job = load(text);
  ASSERT_TRUE(job.has_value()) << job.error().message;
  EXPECT_EQ(job->options.max_length, 256U);
  EXPECT_EQ(job->loaded.job.device.capacity, 8_GiB);
  JobFlags flags;
  flags.set("device.capacity", "4GiB", "--capacity");
  flags.set("batch.micro", 2, "--batch");
  job = load(text, flags);
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->loaded.job.device.capacity, 4_GiB);
  EXPECT_EQ(job->notes.front(), "Not used, because vLLM has its own options: --batch.");
}

TEST_F(VllmJobs, a_job_for_it_is_none_for_pytorch) {
  write("job.toml", "[model]\nconfig = \"model\"\n[engine]\nkind = \"vllm\"\n");
  const auto job = load_job((folder_ / "job.toml").string());
  ASSERT_FALSE(job.has_value());
  EXPECT_EQ(job.error().next, "headroom plan " + (folder_ / "job.toml").string());
}

}  // namespace
}  // namespace headroom::run
