// SPDX-License-Identifier: Apache-2.0
// Adapters over a quantised base: what a step computes, what is written and read again, what a run
// may go on from, and what the plan says.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/text.h"
#include "machine/user_files.h"
#include "trainer/checksum.h"
#include "trainer/load_weights.h"
#include "trainer/save_model.h"
#include "trainer/step.h"
#include "trainer/testing/tiny_job.h"
#include "trainer/testing/tiny_models.h"

namespace headroom::trainer {
namespace {

using estimate::Target;
using estimate::WeightFormat;
using ::testing::HasSubstr;
using testing::RecordingObserver;
using testing::ScratchFolder;
using testing::TinyJob;
using Changes = std::vector<std::string>;

constexpr WeightFormat formats[] = {WeightFormat::nf4, WeightFormat::nf4_dq, WeightFormat::int8};

Json read_json(const std::string& path) {
  const auto text = machine::read_file(path);
  return text ? *parse_json(*text) : Json();
}

ModelOptions options_of(std::optional<WeightFormat> format) {
  ModelOptions options;
  options.longest = 64;
  options.lora = LoraOptions{.rank = 3, .alpha = 5, .targets = {Target::o, Target::down}};
  options.quantised = format;
  return options;
}

void give_adapters_numbers(Model& model) {
  const at::Generator generator = at::detail::createCPUGenerator(9);
  for (Parameter& parameter : model.adapters()) parameter.value.normal_(0, 0.3, generator);
}

// The same model with plain numbers in the place of quantised ones.
std::unique_ptr<Model> make_plain(Model& quantised) {
  auto plain = std::make_unique<Model>(quantised.config(), options_of(std::nullopt));
  for (std::size_t i = 0; i < plain->base().size(); ++i) {
    Parameter& to = plain->base()[i];
    const Parameter& from = quantised.base()[i];
    EXPECT_EQ(to.name, from.name);
    if (const auto& [matrix, first, rows] = from.quantised; matrix != nullptr) {
      const at::Tensor whole = matrix->dequantise(first, rows, at::kFloat);
      to.value.copy_(quantised.config().is_gpt2() ? whole.t() : whole);
    } else {
      to.value.copy_(from.value);
    }
  }
  return plain;
}

std::vector<estimate::ModelConfig> configs() {
  estimate::ModelConfig fused = testing::tiny_config();
  fused.fused = true;
  fused.qkv_bias = false;
  return {testing::tiny_config(), fused, testing::tiny_gpt2_config(),
          testing::tiny_gemma2_config()};
}

TEST(QuantisedBase, a_step_computes_what_it_does_over_the_same_plain_numbers) {
  for (const estimate::ModelConfig& config : configs()) {
    for (const WeightFormat format : formats) {
      Model quantised(config, options_of(format));
      quantised.initialise_base(3);
      const auto plain = make_plain(quantised);
      double losses[2] = {};
      for (Model* model : {&quantised, plain.get()}) {
        give_adapters_numbers(*model);
        losses[model == plain.get()] = train_micro_batch(
            *model, testing::pad(testing::random_samples({9, 4}, config.vocabulary)), 0.1, 1);
      }
      EXPECT_EQ(losses[0], losses[1]) << config.family << " " << to_string(format);
      for (std::size_t i = 0; i < plain->adapters().size(); ++i) {
        EXPECT_TRUE(at::equal(quantised.adapters()[i].grad, plain->adapters()[i].grad))
            << config.family << " " << to_string(format) << " " << plain->adapters()[i].name;
      }
    }
  }
}

// Its bytes are those that the parts of the model add up to.
TEST(QuantisedBase, parameter_bytes_are_those_that_are_allocated) {
  for (const estimate::ModelConfig& config : configs()) {
    for (const WeightFormat format : formats) {
      Model model(config, options_of(format));
      std::uint64_t bytes = 0;
      for (const Model::Stored& stored : model.stored()) {
        if (!stored.quantised) {
          bytes += stored.value.nbytes();
          continue;
        }
        const QuantisedMatrix& matrix = *stored.quantised;
        bytes += matrix.packed().nbytes() + matrix.scales().nbytes();
        if (matrix.nested().defined()) bytes += matrix.nested().nbytes();
      }
      EXPECT_EQ(parameter_bytes(config, model.options()).weights, bytes)
          << config.family << " " << to_string(format);
    }
  }
}

// Each family from a plain folder, then from what is written of it.
TEST(QuantisedBase, what_is_written_is_what_is_read) {
  for (const estimate::ModelConfig& config : configs()) {
    for (const WeightFormat format : formats) {
      const ScratchFolder folder;
      ModelOptions plain_options = options_of(std::nullopt);
      plain_options.lora.reset();
      const auto plain = testing::random_model(config, plain_options);
      ASSERT_TRUE(save_model(folder.path(), *plain, Json::object()));
      Model model(config, options_of(format));
      const Status loaded = load_weights(folder.path(), model);
      ASSERT_TRUE(loaded) << loaded.error().message;
      ASSERT_TRUE(save_model(folder.path(), model, Json::object()));
      Model again(config, options_of(format));
      const Status read = load_weights(folder.path(), again);
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(list_checksums(again.base()), list_checksums(model.base()));
      const Json written = read_json(folder.file("config.json"))["quantization_config"];
      EXPECT_EQ(written["load_in_4bit"], format != WeightFormat::int8);
      EXPECT_EQ(written["bnb_4bit_use_double_quant"], format == WeightFormat::nf4_dq);
    }
  }
}

// Their padding to whole numbers aside, tensors of wide numbers come first.
TEST(QuantisedBase, tensors_are_written_where_their_numbers_are_aligned) {
  const ScratchFolder folder;
  Model model(testing::tiny_config(), options_of(WeightFormat::nf4_dq));
  model.initialise_base(1);
  ASSERT_TRUE(save_model(folder.path(), model, Json::object()));
  const auto file = SafetensorsFile::open(folder.file("model.safetensors"));
  ASSERT_TRUE(file);
  for (const auto& [name, entry] : file->tensors()) {
    const std::uint64_t bytes = estimate::safetensors_element_bytes(entry.dtype);
    EXPECT_EQ(entry.offset % bytes, 0U) << name;
  }
}

struct Finished {
  TrainOutcome outcome;
  RecordingObserver observer;
};

Finished run(const TrainRequest& request) {
  Finished finished;
  auto outcome = train(request, finished.observer);
  EXPECT_TRUE(outcome) << outcome.error().message;
  if (outcome) finished.outcome = *std::move(outcome);
  return finished;
}

TEST(QuantisedJob, the_predicted_peak_is_the_measured_one_to_the_byte) {
  for (const char* base : {"nf4", "nf4-dq", "int8"}) {
    for (const Changes& more :
         {Changes{}, Changes{"compute.dtype=\"bf16\""},
          Changes{"compute.dtype=\"bf16\"", "compute.checkpointing=\"layer\"",
                  "compute.loss=\"chunked\"", "method.dropout=0.1", "batch.accumulate=2"}}) {
      const TinyJob job;
      job.folder.write("text.txt", std::string(300, 'a'));
      Changes changes = {"batch.micro=1", "method.kind=\"qlora\"",
                         fmt::format("method.base=\"{}\"", base)};
      changes.insert(changes.end(), more.begin(), more.end());
      auto request = job.request(changes);
      ASSERT_TRUE(request) << request.error().message;
      const Finished finished = run(*request);
      ASSERT_TRUE(finished.outcome.status) << finished.outcome.status.error().message;
      EXPECT_EQ(finished.outcome.report["measured"]["allocated_bytes"],
                request->predicted["allocated_bytes"])
          << join(changes, ", ");
    }
  }
}

TEST(QuantisedJob, a_base_that_was_written_gives_the_same_run_and_can_be_gone_on_from) {
  const TinyJob job;
  const Changes changes = {"method.kind=\"qlora\"", "method.base=\"nf4-dq\"", "method.rank=4"};
  auto request = job.request(changes);
  ASSERT_TRUE(request) << request.error().message;
  request->base_folder = job.folder.file("base");
  const Finished first = run(*request);
  ASSERT_TRUE(first.outcome.status);
  EXPECT_TRUE(std::filesystem::exists(job.folder.file("out/adapter_config.json")));
  EXPECT_FALSE(std::filesystem::exists(job.folder.file("out/model.safetensors")));
  EXPECT_EQ(first.outcome.report["settings"]["method"], "qlora");
  EXPECT_EQ(first.outcome.report["settings"]["base"], "nf4-dq");

  // Its config.json says that it is quantised, so the job need not.
  auto stored = job.request({"model.config=\"base\"", "method.kind=\"lora\"", "method.rank=4"});
  ASSERT_TRUE(stored) << stored.error().message;
  ASSERT_EQ(stored->settings.model.quantised, WeightFormat::nf4_dq);
  stored->output = job.folder.file("stored");
  const Finished second = run(*stored);
  ASSERT_EQ(first.observer.steps.size(), second.observer.steps.size());
  for (std::size_t i = 0; i < first.observer.steps.size(); ++i)
    EXPECT_EQ(first.observer.steps[i].loss, second.observer.steps[i].loss);

  stored = job.request(
      {"model.config=\"base\"", "method.rank=4", "method.kind=\"lora\"", "data.epochs=3"});
  ASSERT_TRUE(stored);
  stored->resume = true;
  EXPECT_TRUE(run(*stored).outcome.status);
}

TEST(QuantisedJob, a_checkpoint_over_another_base_is_refused) {
  const TinyJob job;
  auto request = job.request({"method.kind=\"qlora\"", "method.base=\"nf4\""});
  ASSERT_TRUE(request);
  ASSERT_TRUE(run(*request).outcome.status);
  for (const auto& [base, difference] :
       {std::pair{"method.base=\"nf4-dq\"", "method.base: expected nf4 as in the checkpoint"},
        {"method.base=\"int8\"", "checksum of the frozen weights"}}) {
    auto other = job.request({"method.kind=\"qlora\"", base});
    ASSERT_TRUE(other);
    other->resume = true;
    RecordingObserver observer;
    const auto refused = train(*other, observer);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr(difference));
  }
  auto plain = job.request({"method.kind=\"lora\""});
  ASSERT_TRUE(plain);
  plain->resume = true;
  RecordingObserver observer;
  const auto refused = train(*plain, observer);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("method.base: expected nf4"));
}

}  // namespace
}  // namespace headroom::trainer
