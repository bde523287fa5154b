// SPDX-License-Identifier: Apache-2.0
#include "run/diffusion_job.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "knowledge/pipelines.h"

namespace headroom::run {
namespace {

namespace fs = std::filesystem;

class DiffusionJobs : public ::testing::Test {
 protected:
  DiffusionJobs()
      : folder_(fs::path(::testing::TempDir()) /
                ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::create_directories(folder_);
  }
  ~DiffusionJobs() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
  static JobFile read(const std::string& path) {
    auto file = read_job_file(path);
    EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message);
    return file ? *std::move(file) : JobFile{};
  }

  fs::path folder_;
};

TEST_F(DiffusionJobs, are_told_by_their_engine_or_the_name_of_their_pipeline) {
  const std::string named = write("named.toml", "[model]\nname = \"sdxl\"\n");
  EXPECT_TRUE(is_diffusion_job(read(named), {}));
  const std::string other = write("other.toml", "[model]\nname = \"Qwen/Qwen2.5-3B\"\n");
  EXPECT_FALSE(is_diffusion_job(read(other), {}));
  JobFlags flags;
  flags.set("model.name", "flux", "--model");
  EXPECT_TRUE(is_diffusion_job(JobFile{}, flags));
  flags.set("engine.kind", "transformers", "--engine");
  EXPECT_FALSE(is_diffusion_job(JobFile{}, flags));
}

// A folder as save_pretrained() leaves it: each component's config beside the index.
TEST_F(DiffusionJobs, read_a_folder_as_diffusers_does) {
  const Json components = knowledge::find_pipeline("sd15")->components();
  Json index = {{"_class_name", "StableDiffusionPipeline"},
                {"tokenizer", {"transformers", "CLIPTokenizer"}},
                {"safety_checker", {nullptr, nullptr}}};
  for (const char* name : {"unet", "vae", "text_encoder"}) {
    index[name] = {"diffusers", "…"};
    write(std::string("pipe/") + name + "/config.json", components[name].dump());
  }
  write("pipe/model_index.json", index.dump());
  const std::string path = write("job.toml",
                                 "[model]\nconfig = \"pipe\"\n[engine]\nkind = \"diffusers\"\n"
                                 "height = 640\nenable_vae_tiling = true\n[device]\n"
                                 "capacity = \"8GiB\"\n");
  const auto job = load_diffusion_job(read(path), {});
  ASSERT_TRUE(job.has_value()) << job.error().message;
  EXPECT_EQ(job->shape.unet->levels.size(), 4U);
  EXPECT_FALSE(job->shape.checker);
  EXPECT_EQ(job->settings.height, 640U);
  EXPECT_TRUE(job->settings.vae_tiling);
  EXPECT_EQ(job->job.device.capacity->value, 8ULL << 30U);
}

TEST_F(DiffusionJobs, are_pictures_and_no_training) {
  JobFlags flags;
  flags.set("model.name", "sdxl", "--model");
  flags.set("method.kind", "lora", "--method");
  const auto trained = load_diffusion_job(JobFile{}, flags);
  ASSERT_FALSE(trained.has_value());
  EXPECT_EQ(trained.error().message.find("--method: expected inference, found lora"), 0U);
  const std::string path =
      write("job.toml", "[model]\nname = \"sdxl\"\n[method]\nkind = \"full\"\n");
  const auto in_file = load_diffusion_job(read(path), {});
  ASSERT_FALSE(in_file.has_value());
  EXPECT_NE(in_file.error().message.find("method.kind: expected inference, found full"),
            std::string::npos);
}

TEST_F(DiffusionJobs, say_what_is_wrong_and_where) {
  const auto message = [&](const std::string& text) {
    const auto job = load_diffusion_job(read(write("job.toml", text)), {});
    return job ? std::string() : job.error().message;
  };
  EXPECT_NE(message("[model]\nconfig = \"nowhere\"\n[engine]\nkind = \"diffusers\"\n")
                .find("model_index.json"),
            std::string::npos);
  EXPECT_NE(message("[engine]\nkind = \"diffusers\"\n").find("found none"), std::string::npos);
  EXPECT_NE(message("[model]\nname = \"sdxl\"\n[engine]\nkind = \"diffusers\"\nheigth = 1\n")
                .find("height"),
            std::string::npos);
}

}  // namespace
}  // namespace headroom::run
