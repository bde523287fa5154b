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
  EXPECT_EQ(job->notes.front(), "Not read: --port.");
}

TEST_F(VllmJobs, mistakes_name_what_was_expected) {
  EXPECT_FALSE(load_vllm_command({"vllm", "serve"}, {}).has_value());
  EXPECT_FALSE(load_vllm_command({"vllm", "serve", "model.gguf"}, {}).has_value());
  EXPECT_FALSE(load_vllm_command({"VLLM_USE_V1=maybe", "vllm", "serve", "m"}, {}).has_value());
  write("job.toml", "[engine]\nkind = \"vllm\"\n");
  EXPECT_FALSE(load_vllm_job((folder_ / "job.toml").string(), {}).has_value());
  write("job.toml", "[model]\nconfig = 3\n[engine]\nkind = \"vllm\"\n");
  EXPECT_FALSE(load_vllm_job((folder_ / "job.toml").string(), {}).has_value());
}

TEST_F(VllmJobs, a_job_file_is_read_with_its_device_and_flags_win) {
  write("job.toml",
        "[model]\nconfig = \"model\"\n[engine]\nkind = \"vllm\"\nmax-model-len = 256\n"
        "[device]\ncapacity = \"8GiB\"\n");
  const std::string path = (folder_ / "job.toml").string();
  auto job = load_vllm_job(path, {});
  ASSERT_TRUE(job.has_value()) << job.error().message;
  ASSERT_TRUE(job->has_value());
  EXPECT_EQ((*job)->options.max_length, 256U);
  EXPECT_EQ((*job)->loaded.job.device.capacity, 8_GiB);
  JobFlags flags;
  flags.set("device.capacity", "4GiB", "--capacity");
  job = load_vllm_job(path, flags);
  ASSERT_TRUE(job.has_value() && job->has_value());
  EXPECT_EQ((*job)->loaded.job.device.capacity, 4_GiB);
  write("other.toml", "[model]\nconfig = \"model\"\n");
  const auto other = load_vllm_job((folder_ / "other.toml").string(), {});
  ASSERT_TRUE(other.has_value());
  EXPECT_FALSE(other->has_value());
}

}  // namespace
}  // namespace headroom::run
