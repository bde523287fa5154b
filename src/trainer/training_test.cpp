// SPDX-License-Identifier: Apache-2.0
// Whole runs, from the job file to the files they leave behind.
#include "trainer/training.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/text.h"
#include "trainer/checkpoint.h"
#include "trainer/data/batches.h"
#include "trainer/load_weights.h"
#include "trainer/micro_batch.h"
#include "trainer/safetensors_file.h"
#include "trainer/step.h"
#include "trainer/testing/tiny_job.h"

namespace headroom::trainer {
namespace {

using ::testing::HasSubstr;
using testing::RecordingObserver;
using testing::ScratchFolder;
using testing::TinyJob;

using Changes = std::vector<std::string>;

struct Finished {
  TrainOutcome outcome;
  std::vector<StepMetrics> steps;
};

Finished run(const TrainRequest& request, std::optional<std::size_t> stop_after = {}) {
  RecordingObserver observer;
  observer.stop_after = stop_after;
  auto outcome = train(request, observer);
  if (!outcome) {
    ADD_FAILURE() << outcome.error().message;
    return {};
  }
  return {*std::move(outcome), observer.steps};
}

Error refused(const TrainRequest& request) {
  RecordingObserver observer;
  const auto outcome = train(request, observer);
  if (outcome) {
    ADD_FAILURE() << "the run began";
    return {};
  }
  EXPECT_FALSE(outcome.error().next.empty()) << outcome.error().message;
  return outcome.error();
}

// The mean loss of a model over all samples of its data.
double evaluate(Model& model, const Settings& settings) {
  const auto samples = data::read_samples(settings.data);
  double loss = 0;
  double targets = 0;
  for (std::size_t i = 0; i < samples->size(); ++i) {
    loss += evaluate_micro_batch(model, *data::make_micro_batch(*samples, {i}));
    targets += static_cast<double>((*samples)[i].size() - 1);
  }
  return loss / targets;
}

TEST(Training, loss_falls_and_everything_is_written) {
  const TinyJob job;
  auto request = job.request({"data.epochs=12"});
  ASSERT_TRUE(request) << request.error().message;
  const Finished run_result = run(*request);
  ASSERT_TRUE(run_result.outcome.status) << run_result.outcome.status.error().message;
  EXPECT_NEAR(run_result.steps.front().loss, std::log(257.0), 0.1);
  EXPECT_LT(run_result.steps.back().loss, 0.7 * run_result.steps.front().loss);
  for (const char* file : {"model.safetensors", "config.json", "metrics.jsonl", "report.json",
                           "checkpoint/state.safetensors"}) {
    EXPECT_TRUE(std::filesystem::exists(request->output + "/" + file)) << file;
  }
  const auto report = parse_json(job.folder.read("out/report.json"));
  ASSERT_TRUE(report);
  EXPECT_EQ(*report, run_result.outcome.report);
  EXPECT_EQ((*report)["schema"], "headroom.train/1");
  EXPECT_EQ((*report)["completed"], true);
  EXPECT_EQ((*report)["steps"], run_result.steps.size());
  EXPECT_EQ((*report)["oom_events"].size(), 0U);
  std::uint64_t sum = 0;
  for (const auto& [name, bytes] : (*report)["measured"]["components"].items()) {
    sum += bytes.get<std::uint64_t>();
  }
  EXPECT_EQ((*report)["measured"]["allocated_bytes"], sum);

  const std::string metrics = job.folder.read("out/metrics.jsonl");
  const auto lines = split_lines(metrics);
  ASSERT_EQ(lines.size(), run_result.steps.size());
  EXPECT_EQ((*parse_json(lines[4]))["step"], 5);
}

TEST(Training, the_model_file_loads_back_with_the_same_loss) {
  const TinyJob job;
  const auto request = job.request();
  ASSERT_TRUE(request);
  ASSERT_TRUE(run(*request).outcome.status);

  // Training on from the output, with a rate of zero, shows the loss of what was written.
  auto again = job.request(
      {"model.config=\"out\"", "optimizer.learning_rate=0", "data.epochs=1", "batch.micro=100"});
  ASSERT_TRUE(again) << again.error().message;
  again->output = job.folder.file("again");
  const Finished second = run(*again);
  ASSERT_EQ(second.steps.size(), 1U);

  Model model(again->settings.config, again->settings.model);
  ASSERT_TRUE(load_weights(job.folder.file("out"), model));
  EXPECT_NEAR(second.steps[0].loss, evaluate(model, again->settings), 1e-5);
  EXPECT_LT(second.steps[0].loss, 5.2);
  const auto config = parse_json(job.folder.read("out/config.json"));
  EXPECT_EQ((*config)["torch_dtype"], "float32");
  EXPECT_EQ((*config)["architectures"][0], "Qwen2ForCausalLM");
  EXPECT_EQ((*config)["initializer_range"], 0.02);
}

TEST(Training, a_resumed_run_ends_with_the_same_bytes_as_an_uninterrupted_one) {
  for (const Changes& changes :
       {Changes{}, Changes{"method.kind=\"lora\"", "method.dropout=0.3"},
        Changes{"compute.dtype=\"bf16\"", "batch.accumulate=2"},
        Changes{"optimizer.schedule=\"cosine\"", "optimizer.warmup_ratio=0.3",
                "optimizer.max_grad_norm=0.5"}}) {
    const TinyJob job;
    auto whole = job.request(changes);
    ASSERT_TRUE(whole) << whole.error().message;
    const Finished expected = run(*whole);
    ASSERT_TRUE(expected.outcome.status);
    for (const std::size_t stop_after : {std::size_t{1}, expected.steps.size() / 2 + 1}) {
      auto parts = *whole;
      parts.output = job.folder.file("parts" + std::to_string(stop_after));
      const Finished first = run(parts, stop_after);
      ASSERT_FALSE(first.outcome.status);
      EXPECT_THAT(first.outcome.status.error().next, HasSubstr("--resume"));
      EXPECT_EQ(first.outcome.report["completed"], false);
      parts.resume = true;
      const Finished rest = run(parts);
      ASSERT_TRUE(rest.outcome.status) << rest.outcome.status.error().message;
      EXPECT_EQ(first.steps.size() + rest.steps.size(), expected.steps.size());
      EXPECT_EQ(rest.steps.back().loss, expected.steps.back().loss);
      const std::string name = std::filesystem::path(parts.output).filename();
      EXPECT_EQ(job.folder.read(name + "/checkpoint/state.safetensors"),
                job.folder.read("out/checkpoint/state.safetensors"));
      const std::string metrics = job.folder.read(name + "/metrics.jsonl");
      EXPECT_EQ(split_lines(metrics).size(), expected.steps.size());
    }
  }
}

TEST(Training, the_rate_follows_the_schedule_and_the_norm_is_the_same_however_a_step_is_split) {
  const TinyJob job;
  const Changes common = {"optimizer.schedule=\"linear\"", "optimizer.warmup_steps=2",
                          "optimizer.max_grad_norm=0.5"};
  std::vector<Finished> runs;
  for (const Changes& split :
       {Changes{"batch.micro=2"}, Changes{"batch.micro=1", "batch.accumulate=2"}}) {
    Changes changes = common;
    changes.insert(changes.end(), split.begin(), split.end());
    auto request = job.request(changes);
    ASSERT_TRUE(request) << request.error().message;
    request->output = job.folder.file("split" + std::to_string(runs.size()));
    runs.push_back(run(*request));
    ASSERT_TRUE(runs.back().outcome.status) << runs.back().outcome.status.error().message;
  }
  const std::vector<StepMetrics>& whole = runs[0].steps;
  const std::vector<StepMetrics>& parts = runs[1].steps;
  ASSERT_EQ(whole.size(), 6U);
  ASSERT_EQ(parts.size(), 6U);
  const double rates[] = {0, 0.5, 1, 0.75, 0.5, 0.25};
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_DOUBLE_EQ(whole[i].learning_rate, 5e-3 * rates[i]);
    EXPECT_GT(whole[i].gradient_norm, 0.5);  // Else nothing is clipped.
    EXPECT_NEAR(parts[i].gradient_norm / whole[i].gradient_norm, 1, 1e-4);
    EXPECT_NEAR(parts[i].loss, whole[i].loss, 1e-4);
  }
  EXPECT_EQ(runs[0].outcome.report["settings"]["warmup_steps"], 2);
  const std::string metrics = job.folder.read("split0/metrics.jsonl");
  const auto line = parse_json(split_lines(metrics)[1]);
  EXPECT_EQ((*line)["learning_rate"], whole[1].learning_rate);
  EXPECT_EQ((*line)["gradient_norm"], whole[1].gradient_norm);
}

TEST(Training, clipping_shortens_what_a_step_moves) {
  const TinyJob job;
  double losses[2];
  for (const bool clipped : {false, true}) {
    Changes changes = {"data.epochs=6"};
    // AdamW's step hardly depends on the gradient's length, except through epsilon.
    if (clipped) changes.emplace_back("optimizer.max_grad_norm=1e-7");
    auto request = job.request(changes);
    ASSERT_TRUE(request) << request.error().message;
    request->output = job.folder.file(clipped ? "clipped" : "free");
    losses[clipped ? 1 : 0] = run(*request).steps.back().loss;
  }
  EXPECT_GT(losses[1], losses[0] + 0.2);
}

TEST(Training, an_adapter_is_written_as_peft_reads_it) {
  const TinyJob job;
  auto request =
      job.request({"method.kind=\"lora\"", "method.rank=4", "method.targets=[\"q\",\"down\"]"});
  ASSERT_TRUE(request) << request.error().message;
  request->base_model = "some/model";
  ASSERT_TRUE(run(*request).outcome.status);
  EXPECT_FALSE(std::filesystem::exists(job.folder.file("out/model.safetensors")));
  const auto file = SafetensorsFile::open(job.folder.file("out/adapter_model.safetensors"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->tensors().size(), 8U);
  const auto shape = [&](const std::string& name) {
    return file->tensors().at("base_model.model.model.layers.1." + name).shape;
  };
  EXPECT_EQ(shape("self_attn.q_proj.lora_A.weight"), (std::vector<std::int64_t>{4, 32}));
  EXPECT_EQ(shape("self_attn.q_proj.lora_B.weight"), (std::vector<std::int64_t>{32, 4}));
  EXPECT_EQ(shape("mlp.down_proj.lora_A.weight"), (std::vector<std::int64_t>{4, 64}));
  EXPECT_EQ(shape("mlp.down_proj.lora_B.weight"), (std::vector<std::int64_t>{32, 4}));
  const auto config = parse_json(job.folder.read("out/adapter_config.json"));
  ASSERT_TRUE(config);
  EXPECT_EQ((*config)["peft_type"], "LORA");
  EXPECT_EQ((*config)["task_type"], "CAUSAL_LM");
  EXPECT_EQ((*config)["r"], 4);
  EXPECT_EQ((*config)["lora_alpha"], 8);
  EXPECT_EQ((*config)["target_modules"], Json({"q_proj", "down_proj"}));
  EXPECT_EQ((*config)["base_model_name_or_path"], "some/model");
  EXPECT_EQ((*config)["bias"], "none");
}

TEST(Training, the_predicted_peak_is_the_measured_one) {
  const std::vector<Changes> jobs = {
      {"batch.micro=1"},
      {"batch.micro=1", "compute.attention=\"math\"", "compute.checkpointing=\"layer\""},
      {"batch.micro=1", "compute.loss=\"chunked\"", "batch.accumulate=3"},
      {"batch.micro=1", "method.kind=\"lora\"", "method.dropout=0.1"},
      {"batch.micro=1", "method.kind=\"lora\"", "compute.checkpointing=\"layer\"",
       "compute.loss=\"chunked\""},
      {"batch.micro=1", "compute.dtype=\"bf16\""},
      {"batch.micro=1", "compute.dtype=\"bf16\"", "method.kind=\"lora\"",
       "compute.attention=\"math\""},
  };
  for (const Changes& changes : jobs) {
    const TinyJob job;
    // One long paragraph: its first samples are as long as the sequence.
    job.folder.write("text.txt", std::string(300, 'a'));
    auto request = job.request(changes);
    ASSERT_TRUE(request) << request.error().message;
    const Finished finished = run(*request);
    ASSERT_TRUE(finished.outcome.status) << finished.outcome.status.error().message;
    const auto measured = finished.outcome.report["measured"]["allocated_bytes"].get<double>();
    const auto predicted = request->predicted["allocated_bytes"].get<double>();
    EXPECT_NEAR(predicted / measured, 1, 0.05) << join(changes, ", ");
  }
}

TEST(Training, running_out_of_memory_is_an_error_that_names_what_was_live) {
  const TinyJob job;
  auto request =
      job.request({"batch.sequence=400", "compute.attention=\"math\"", "device.capacity=\"2MiB\""});
  ASSERT_TRUE(request) << request.error().message;
  const Finished finished = run(*request);
  ASSERT_FALSE(finished.outcome.status);
  EXPECT_EQ(finished.outcome.status.error().code, Errc::out_of_memory);
  const auto report = parse_json(job.folder.read("out/report.json"));
  EXPECT_EQ((*report)["completed"], false);
  const Json& event = (*report)["oom_events"][0];
  EXPECT_EQ(event["step"], 1);
  EXPECT_EQ(event["capacity_bytes"], 2 << 20);
  EXPECT_GT(event["components"]["weights"], 0);
  EXPECT_GT(event["components"]["activations"], 0);
  EXPECT_LE((*report)["measured"]["reserved_bytes"], 2 << 20);
}

// The first step fits and a later one does not, not even with one sample at once: what was learnt
// is in a checkpoint, and a larger capacity goes on from it.
TEST(Training, after_running_out_of_memory_a_larger_capacity_goes_on) {
  const TinyJob job;
  job.folder.write(
      "ids.txt", "1 2 3\n4 5 6\n7 8 9\n1 3 5\n" + [] {
        std::string line;
        for (int i = 0; i < 400; ++i) line += "7 ";
        return line + "\n" + line + "\n";
      }());
  // The long ones are the last two of the file, and not in the first step.
  std::uint64_t seed = 1;
  const auto begins_short = [&] {
    const auto order = data::shuffled(6, seed, 0);
    return order[0] < 4 && order[1] < 4;
  };
  while (!begins_short()) ++seed;
  const Changes common = {"data.path=\"ids.txt\"", "data.kind=\"tokens\"",
                          "batch.sequence=400",    "compute.attention=\"math\"",
                          "data.epochs=3",         fmt::format("data.seed={}", seed)};
  Changes small = common;
  small.emplace_back("device.capacity=\"4MiB\"");
  auto request = job.request(small);
  ASSERT_TRUE(request) << request.error().message;
  const Finished failed = run(*request);
  ASSERT_FALSE(failed.outcome.status);
  ASSERT_GE(failed.steps.size(), 1U);

  Changes large = common;
  large.emplace_back("device.capacity=\"16MiB\"");
  auto resumed = job.request(large);
  ASSERT_TRUE(resumed);
  resumed->resume = true;
  const Finished rest = run(*resumed);
  ASSERT_TRUE(rest.outcome.status) << rest.outcome.status.error().message;
  EXPECT_EQ(failed.steps.size() + rest.steps.size(), 9U);
}

TEST(Training, a_capacity_below_the_weights_says_how_much_they_need) {
  const TinyJob job;
  auto request = job.request({"device.capacity=\"64KiB\""});
  ASSERT_TRUE(request) << request.error().message;
  Error error = refused(*request);
  EXPECT_EQ(error.code, Errc::out_of_memory);
  EXPECT_THAT(error.message, HasSubstr("parameters alone need"));
  EXPECT_THAT(error.next, HasSubstr("device.capacity"));
  job.folder.write("config.json",
                   std::string(testing::tiny_config_json).insert(1, "\"head_dim\":160,"));
  request = job.request({"device.capacity=\"2MiB\""});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_THAT(refused(*request).message, HasSubstr("optimizer state"));
}

TEST(Training, a_loss_that_is_no_number_ends_the_run_with_the_last_good_state) {
  const TinyJob job;
  auto request =
      job.request({"optimizer.learning_rate=10", "optimizer.weight_decay=10", "data.epochs=400"});
  ASSERT_TRUE(request) << request.error().message;
  const Finished finished = run(*request);
  ASSERT_FALSE(finished.outcome.status);
  EXPECT_THAT(finished.outcome.status.error().next, HasSubstr("learning_rate"));
  const auto state = SafetensorsFile::open(checkpoint_path(request->output));
  ASSERT_TRUE(state);
  EXPECT_EQ(state->metadata().at("steps"), std::to_string(finished.steps.size()));
  for (const StepMetrics& step : finished.steps) EXPECT_TRUE(std::isfinite(step.loss));
}

TEST(Training, results_of_another_run_are_never_overwritten) {
  const TinyJob job;
  const auto request = job.request();
  ASSERT_TRUE(run(*request).outcome.status);
  const std::string before = job.folder.read("out/model.safetensors");
  EXPECT_THAT(refused(*request).next, HasSubstr("--resume"));
  EXPECT_EQ(job.folder.read("out/model.safetensors"), before);
}

TEST(Training, resuming_needs_a_checkpoint_of_the_same_run) {
  const TinyJob job;
  auto request = job.request();
  request->resume = true;
  EXPECT_EQ(refused(*request).code, Errc::not_found);
  request->resume = false;
  ASSERT_TRUE(run(*request).outcome.status);
  for (const Changes& other :
       {Changes{"data.seed=2"}, Changes{"batch.micro=3"}, Changes{"method.kind=\"lora\""}}) {
    auto resumed = job.request(other);
    ASSERT_TRUE(resumed);
    resumed->resume = true;
    EXPECT_THAT(refused(*resumed).message, HasSubstr("checkpoint of another run"));
  }
  const std::string state = job.folder.read("out/checkpoint/state.safetensors");
  job.folder.write("out/checkpoint/state.safetensors", state.substr(0, state.size() / 2));
  request->resume = true;
  EXPECT_THAT(refused(*request).message, HasSubstr("cut off"));
}

TEST(Training, the_trace_holds_every_allocation_with_its_component) {
  const TinyJob job;
  auto request = job.request();
  request->trace_path = job.folder.file("trace.txt");
  ASSERT_TRUE(run(*request).outcome.status);
  const std::string text = job.folder.read("trace.txt");
  std::size_t weights = 0;
  std::int64_t live = 0;
  for (const std::string_view line : split_lines(text)) {
    if (line.ends_with(" weights")) ++weights;
    live += line.starts_with("a ") ? 1 : line.starts_with("f ") ? -1 : 0;
  }
  EXPECT_EQ(weights, 26U);  // Two layers of twelve tensors, the embedding, the last norm.
  EXPECT_EQ(live, 0);
}

}  // namespace
}  // namespace headroom::trainer
