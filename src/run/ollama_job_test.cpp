// SPDX-License-Identifier: Apache-2.0
// ollama's commands, its store of models, and the options that it gives llama-server.
#include "run/ollama_job.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "run/ollama_store.h"

namespace headroom::run {
namespace {

using estimate::llama::Model;
using estimate::llama::OllamaSettings;
using estimate::llama::Options;
using estimate::llama::to_llama_options;

constexpr std::uint64_t gib = std::uint64_t{1} << 30U;
const std::string weights_digest(64, 'a');
const std::string parameters_digest(64, 'b');

class OllamaStore : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("ollama-store-") +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    write("manifests/registry.ollama.ai/library/small/3b",
          R"({"layers": [
            {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:)" +
              weights_digest + R"("},
            {"mediaType": "application/vnd.ollama.image.projector", "digest": "sha256:)" +
              weights_digest + R"("},
            {"mediaType": "application/vnd.ollama.image.params", "digest": "sha256:)" +
              parameters_digest + R"("}]})");
    write("blobs/sha256-" + parameters_digest, R"({"num_ctx": 8192, "stop": ["x"], "top_p": 0.9})");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }

  std::filesystem::path folder_;
};

TEST_F(OllamaStore, a_name_leads_to_a_blob_and_its_parameters) {
  for (const char* name : {"small:3b", "library/small:3b", "registry.ollama.ai/library/small:3b"}) {
    const auto model = find_ollama_model(name, {"/nowhere", folder_.string()});
    ASSERT_TRUE(model.has_value()) << model.error().message;
    EXPECT_EQ(model->weights, folder_.string() + "/blobs/sha256-" + weights_digest);
    ASSERT_EQ(model->parameters.size(), 1U);
    EXPECT_EQ(model->parameters.front().first, "num_ctx");
    EXPECT_EQ(model->notes.size(), 1U);  // The projector.
  }
}

TEST_F(OllamaStore, what_is_no_model_is_an_error) {
  const std::vector<std::string> folders = {folder_.string()};
  for (const char* name : {"small", "other:3b", "../../etc:passwd", "a/b/c/d:e", "small:../x", ""})
    EXPECT_FALSE(find_ollama_model(name, folders).has_value()) << name;
  for (
      const char* manifest :
      {"", "[]", "{}", R"({"layers": 3})", R"({"layers": [1, {"mediaType": 2}]})",
       R"({"layers": [{"mediaType": "application/vnd.ollama.image.model"}]})",
       R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:../x"}]})"}) {
    write("manifests/registry.ollama.ai/library/bad/latest", manifest);
    EXPECT_FALSE(find_ollama_model("bad", folders).has_value()) << manifest;
  }
}

TEST_F(OllamaStore, a_store_cannot_make_it_read_without_end) {
  const std::vector<std::string> folders = {folder_.string()};
  const std::string layer =
      R"({"mediaType": "application/vnd.ollama.image.params", "digest": "sha256:)" +
      parameters_digest + R"("})";
  std::string layers = layer;
  for (int i = 0; i < 100; ++i) layers += "," + layer;
  write("manifests/registry.ollama.ai/library/many/latest", "{\"layers\": [" + layers + "]}");
  const auto many = find_ollama_model("many", folders);
  ASSERT_FALSE(many.has_value());
  EXPECT_NE(many.error().message.find("at most 64 layers"), std::string::npos);
  EXPECT_EQ(many.error().next, "ollama pull the model again");
  write("manifests/registry.ollama.ai/library/long/latest",
        "{\"layers\": [" + std::string(std::size_t{2} << 20U, ' ') + layer + "]}");
  const auto too_long = find_ollama_model("long", folders);
  ASSERT_FALSE(too_long.has_value());
  EXPECT_NE(too_long.error().message.find("longer than"), std::string::npos);
}

TEST_F(OllamaStore, links_in_circles_and_folders_are_errors_with_a_way_on) {
  const std::filesystem::path library = folder_ / "manifests/registry.ollama.ai/library";
  std::filesystem::create_directories(library / "loop");
  std::filesystem::create_symlink("latest", library / "loop/latest");
  std::filesystem::create_directories(library / "folder/latest");
  for (const char* name : {"loop", "folder"}) {
    const auto model = find_ollama_model(name, {folder_.string()});
    ASSERT_FALSE(model.has_value()) << name;
    EXPECT_FALSE(model.error().next.empty()) << name;
  }
}

TEST_F(OllamaStore, a_parameter_may_be_written_as_go_reads_it) {
  write("blobs/sha256-" + parameters_digest, R"({"num_ctx": 8192.0, "num_gpu": -1, "top_k": 0.5})");
  const auto model = find_ollama_model("small:3b", {folder_.string()});
  ASSERT_TRUE(model.has_value()) << model.error().message;
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(model->parameters, (Pairs{{"num_ctx", "8192"}, {"num_gpu", "-1"}}));
}

TEST_F(OllamaStore, options_before_the_model_may_have_values) {
  const std::string store = "OLLAMA_MODELS=" + folder_.string();
  for (const std::vector<std::string>& options : {std::vector<std::string>{"--keepalive", "5m"},
                                                  {"--verbose"},
                                                  {"--format", "json", "--think"}}) {
    std::vector<std::string> words = {store, "ollama", "run"};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("small:3b");
    const auto job = load_ollama_command(words, {}, "");
    ASSERT_FALSE(job.has_value());  // The blob is not there.
    EXPECT_NE(job.error().message.find(weights_digest), std::string::npos) << job.error().message;
    EXPECT_EQ(job.error().next, "ollama pull small:3b");
  }
}

TEST(OllamaSettings, an_empty_variable_is_not_set_and_quotes_do_not_count) {
  OllamaSettings settings;
  ASSERT_TRUE(estimate::llama::take_ollama_variable("OLLAMA_CONTEXT_LENGTH", "", settings));
  EXPECT_FALSE(settings.num_ctx.has_value());
  ASSERT_TRUE(
      estimate::llama::take_ollama_variable("OLLAMA_CONTEXT_LENGTH", " \"8192\" ", settings));
  EXPECT_EQ(settings.num_ctx, 8192U);
  ASSERT_TRUE(estimate::llama::take_ollama_variable("OLLAMA_FLASH_ATTENTION", "''", settings));
  EXPECT_EQ(settings.flash_attention, estimate::llama::Switch::automatic);
}

TEST(OllamaSettings, figures_that_nothing_can_have_are_refused) {
  OllamaSettings settings;
  for (const auto& [name, value] : std::vector<std::pair<const char*, const char*>>{
           {"OLLAMA_CONTEXT_LENGTH", "4294967296"},
           {"OLLAMA_NUM_PARALLEL", "300"},
           {"OLLAMA_GPU_OVERHEAD", "-5"},
           {"OLLAMA_CONTEXT_LENGTH", "99999999999999999999"}})
    EXPECT_FALSE(estimate::llama::take_ollama_variable(name, value, settings)) << name;
  EXPECT_FALSE(estimate::llama::take_ollama_parameter("num_batch", "4294967296", settings));
  EXPECT_FALSE(estimate::llama::take_ollama_parameter("num_ctx", "nan", settings));
}

TEST(OllamaCommands, are_known_by_their_words) {
  EXPECT_TRUE(is_ollama_command({"OLLAMA_NUM_PARALLEL=2", "/usr/bin/ollama", "run", "m"}));
  EXPECT_TRUE(is_ollama_command({"ollama", "serve"}));
  EXPECT_FALSE(is_ollama_command({"ollama", "pull", "m"}));
  EXPECT_FALSE(is_ollama_command({"OLLAMA_NUM_PARALLEL=2"}));
  EXPECT_FALSE(load_ollama_command({"ollama", "serve"}, {}, "").has_value());
  EXPECT_FALSE(load_ollama_command({"OLLAMA_CONTEXT_LENGTH=long", "ollama", "run", "m"}, {}, "")
                   .has_value());
}

TEST(OllamaCommands, the_store_is_ollamas_own) {
  EXPECT_EQ(ollama_folders(std::string("OLLAMA_MODELS=/data\0HOME=/h\0", 28)),
            std::vector<std::string>{"/data"});
  EXPECT_EQ(ollama_folders(std::string("HOME=/h\0", 8)).front(), "/h/.ollama/models");
}

Model model_of(std::uint64_t trained) {
  Model model;
  model.architecture = "llama";
  model.trained_context = trained;
  return model;
}

TEST(OllamaDefaults, the_context_is_by_the_cards_memory) {
  std::vector<std::string> notes;
  const OllamaSettings none;
  EXPECT_EQ(to_llama_options(none, model_of(0), 0, notes).context, 4096U);
  EXPECT_EQ(to_llama_options(none, model_of(0), 16 * gib, notes).context, 4096U);
  EXPECT_EQ(to_llama_options(none, model_of(0), 24 * gib, notes).context, 32768U);
  EXPECT_EQ(to_llama_options(none, model_of(0), 48 * gib, notes).context, 262144U);
  EXPECT_EQ(to_llama_options(none, model_of(8192), 48 * gib, notes).context, 8192U);
}

TEST(OllamaDefaults, each_parallel_request_has_its_own_context) {
  OllamaSettings settings;
  settings.num_ctx = 4096;
  settings.parallel = 4;
  std::vector<std::string> notes;
  const Options options = to_llama_options(settings, model_of(131072), 24 * gib, notes);
  EXPECT_EQ(options.context, 4U * 4096);
  EXPECT_EQ(options.parallel, 4U);
  EXPECT_EQ(options.ubatch, 1024U);  // For 16,384 tokens in all.
  settings.num_batch = 64;
  EXPECT_EQ(to_llama_options(settings, model_of(131072), 24 * gib, notes).ubatch, 64U);
}

TEST(OllamaDefaults, a_card_of_which_nothing_is_left_is_known_all_the_same) {
  OllamaSettings settings;
  settings.num_ctx = 65536;
  settings.overhead_bytes = UINT64_MAX;
  std::vector<std::string> notes;
  EXPECT_EQ(to_llama_options(settings, model_of(131072), 24 * gib, notes).batch, 512U);
}

TEST(OllamaDefaults, steps_are_shorter_where_a_card_is_nearly_full) {
  OllamaSettings settings;
  settings.num_ctx = 65536;
  std::vector<std::string> notes;
  Model model = model_of(131072);
  EXPECT_EQ(to_llama_options(settings, model, 24 * gib, notes).batch, 2048U);
  model.weights.push_back({"w", 0, {1, 1, 1, 1}, 16 * gib, 0, std::nullopt});
  EXPECT_EQ(to_llama_options(settings, model, 24 * gib, notes).batch, 1024U);  // 67 % of it.
  model.weights.front().bytes = 20 * gib;
  EXPECT_EQ(to_llama_options(settings, model, 24 * gib, notes).batch, 512U);
}

}  // namespace
}  // namespace headroom::run
