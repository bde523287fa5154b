// SPDX-License-Identifier: Apache-2.0
// What is kept apart from training, what is found on it, and the best model that comes of that.
#include "trainer/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/text.h"
#include "trainer/checkpoint.h"
#include "trainer/data/split.h"
#include "trainer/load_weights.h"
#include "trainer/safetensors_file.h"
#include "trainer/testing/tiny_job.h"

namespace headroom::trainer {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::RecordingObserver;
using testing::TinyJob;

using Changes = std::vector<std::string>;

struct Finished {
  TrainOutcome outcome;
  RecordingObserver observer;
};

struct Stop {
  std::optional<std::size_t> after_steps = {}, after_evaluations = {};
};

Finished run(const TrainRequest& request, Stop stop = {}) {
  Finished finished;
  finished.observer.stop_after = stop.after_steps;
  finished.observer.stop_after_evaluations = stop.after_evaluations;
  auto outcome = train(request, finished.observer);
  if (outcome)
    finished.outcome = *std::move(outcome);
  else
    ADD_FAILURE() << outcome.error().message;
  return finished;
}

data::Samples read_all(const data::SampleSet& samples) {
  data::Samples all;
  data::Sample space;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto sample = samples.read(i, space);
    all.emplace_back(sample->begin(), sample->end());
  }
  return all;
}

TEST(Evaluation, a_share_is_rounded_up_drawn_by_the_seed_and_never_trained_on) {
  data::Samples samples;
  for (std::int32_t i = 0; i < 21; ++i) samples.push_back({i, i});
  const auto first = data::split(samples, 0.1, 1);
  ASSERT_TRUE(first);
  const data::Samples evaluation = read_all(first->evaluation);
  const data::Samples training = read_all(first->training);
  EXPECT_EQ(evaluation.size(), 3U);
  EXPECT_EQ(training.size(), 18U);
  EXPECT_TRUE(std::is_sorted(training.begin(), training.end()));
  for (const data::Sample& sample : evaluation)
    EXPECT_THAT(training, ::testing::Not(Contains(sample)));
  EXPECT_EQ(read_all(data::split(samples, 0.1, 1)->evaluation), evaluation);
  EXPECT_NE(read_all(data::split(samples, 0.1, 2)->evaluation), evaluation);
  const auto none_left = data::split(samples, 0.99, 1);
  ASSERT_FALSE(none_left);
  EXPECT_THAT(none_left.error().message, HasSubstr("0.99 of 21 samples"));
}

TEST(Evaluation, every_epoch_is_evaluated_and_the_report_says_so) {
  const TinyJob job;
  const auto request = job.request({"data.evaluation=0.3", "data.epochs=3"});
  ASSERT_TRUE(request) << request.error().message;
  const Finished finished = run(*request);
  ASSERT_TRUE(finished.outcome.status) << finished.outcome.status.error().message;
  const auto& evaluations = finished.observer.evaluations;
  ASSERT_EQ(evaluations.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(evaluations[i].epoch, i + 1);
    EXPECT_EQ(evaluations[i].step, (i + 1) * finished.observer.steps.size() / 3);
  }
  EXPECT_TRUE(evaluations[0].best);
  const Json& report = finished.outcome.report["evaluation"];
  EXPECT_EQ(report["last_loss"], evaluations[2].loss);
  EXPECT_EQ(report["samples"], 2);
  EXPECT_EQ(finished.outcome.report["settings"]["data_samples"], 4);
  const std::string metrics = job.folder.read("out/metrics.jsonl");
  const auto lines = split_lines(metrics);
  ASSERT_EQ(lines.size(), finished.observer.steps.size() + 3);
  EXPECT_EQ((*parse_json(lines.back()))["evaluation_loss"], evaluations[2].loss);
}

TEST(Evaluation, the_best_model_is_kept_when_later_ones_are_worse) {
  for (const bool lora : {false, true}) {
    const TinyJob job;
    // What is learned of "a" makes "b" ever less likely.
    job.folder.write("a.txt", std::string(200, 'a'));
    job.folder.write("b.txt", std::string(60, 'b'));
    Changes changes = {"data.path=\"a.txt\"", "data.evaluation=\"b.txt\"", "data.epochs=3",
                       "data.evaluate_every=2", "optimizer.learning_rate=0.05"};
    if (lora) changes.emplace_back("method.kind=\"lora\"");
    const auto request = job.request(changes);
    ASSERT_TRUE(request) << request.error().message;
    const Finished finished = run(*request);
    ASSERT_TRUE(finished.outcome.status) << finished.outcome.status.error().message;
    const auto& evaluations = finished.observer.evaluations;
    EXPECT_EQ(evaluations.back().step, finished.observer.steps.size());
    double best = evaluations[0].loss;
    std::uint64_t step = evaluations[0].step;
    for (const EvaluationMetrics& one : evaluations) {
      EXPECT_EQ(one.best, &one == &evaluations[0] || one.loss < best);
      if (one.loss < best) step = one.step;
      best = std::min(best, one.loss);
    }
    EXPECT_EQ(finished.outcome.report["evaluation"]["best_step"], step);
    ASSERT_LT(step, evaluations.back().step);  // Else the test shows nothing.
    const std::string name = lora ? "adapter_model.safetensors" : "model.safetensors";
    const auto kept = SafetensorsFile::open(job.folder.file("out/best/" + name));
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->metadata().at("headroom.step"), std::to_string(step));
    EXPECT_EQ(kept->metadata().at("format"), "pt");
    EXPECT_NE(job.folder.read("out/best/" + name), job.folder.read("out/" + name));
    if (lora) continue;
    Model model(request->settings.config, request->settings.model);
    ASSERT_TRUE(load_weights(job.folder.file("out/best"), model));
    const auto samples = data::read_split(request->settings.data, request->settings.evaluation, 1);
    const std::size_t all = count_evaluations(samples->evaluation.size(), 2);
    const auto memory = DeviceMemory::create({.capacity = 32_MiB});
    RecordingObserver observer;
    FittingBatches batches(**memory, observer, 2);
    const auto whole =
        evaluate(model, samples->evaluation, {2, 0, all}, batches, [] { return false; });
    ASSERT_TRUE(whole);
    EXPECT_NEAR(whole->loss / whole->targets, best, 1e-6);
  }
}

TEST(Evaluation, a_run_stopped_anywhere_ends_with_the_same_best_and_last_bytes) {
  const Changes changes = {"data.evaluation=0.3", "data.evaluate_every=2", "data.epochs=3",
                           "optimizer.schedule=\"linear\"", "optimizer.learning_rate=0.05"};
  const TinyJob job;
  auto whole = job.request(changes);
  ASSERT_TRUE(whole) << whole.error().message;
  const Finished expected = run(*whole);
  ASSERT_TRUE(expected.outcome.status);
  for (std::size_t stop_after = 1; stop_after < expected.observer.steps.size(); ++stop_after) {
    auto parts = *whole;
    const std::string name = "parts" + std::to_string(stop_after);
    parts.output = job.folder.file(name);
    const Finished first = run(parts, {.after_steps = stop_after});
    ASSERT_FALSE(first.outcome.status);
    // A stop that comes before or in an evaluation does not wait for its end.
    EXPECT_EQ(first.observer.evaluations.size(), (stop_after - 1) / 2) << stop_after;
    parts.resume = true;
    const Finished rest = run(parts);
    ASSERT_TRUE(rest.outcome.status) << rest.outcome.status.error().message;
    for (const char* file : {"/best/model.safetensors", "/best/config.json", "/model.safetensors",
                             "/checkpoint/state.safetensors"})
      EXPECT_EQ(job.folder.read(name + file), job.folder.read(std::string("out") + file)) << file;
    EXPECT_EQ(first.observer.evaluations.size() + rest.observer.evaluations.size(),
              expected.observer.evaluations.size());
    EXPECT_EQ(split_lines(job.folder.read(name + "/metrics.jsonl")).size(),
              split_lines(job.folder.read("out/metrics.jsonl")).size());
  }
}

// Killed after the checkpoint was written and before the model was.
TEST(Evaluation, a_best_model_that_was_not_written_any_more_is_written_on_resuming) {
  const TinyJob job;
  auto request = job.request({"data.evaluation=0.3", "data.evaluate_every=1"});
  ASSERT_TRUE(request) << request.error().message;
  const Finished first = run(*request, {.after_evaluations = 1});
  ASSERT_FALSE(first.outcome.status);
  const std::string best = job.folder.read("out/best/model.safetensors");
  ASSERT_FALSE(best.empty());
  std::filesystem::remove_all(job.folder.file("out/best"));
  request->resume = true;
  const Finished rest = run(*request, {.after_steps = 0});
  EXPECT_TRUE(std::filesystem::exists(job.folder.file("out/best/config.json")));

  // Of an earlier step it is gone, and that is said.
  const TinyJob other;
  auto later = other.request({"data.evaluation=0.3", "data.evaluate_every=1"});
  ASSERT_FALSE(run(*later, {.after_evaluations = 2}).outcome.status);
  const auto state = SafetensorsFile::open(checkpoint_path(later->output));
  ASSERT_TRUE(state);
  EXPECT_EQ(state->metadata().at("evaluated"), "2");
}

TEST(Evaluation, another_evaluation_text_is_refused_on_resuming) {
  const TinyJob job;
  job.folder.write("other.txt", "Something that is not trained on.\n");
  const Changes changes = {"data.evaluation=\"other.txt\""};
  auto request = job.request(changes);
  ASSERT_FALSE(run(*request, {.after_steps = 1}).outcome.status);
  job.folder.write("other.txt", "Something else that is not trained on.\n");
  request->resume = true;
  RecordingObserver observer;
  const auto refused = train(*request, observer);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("data.evaluation: checksum of the tokens"));
}

TEST(Evaluation, it_does_not_raise_the_peak_and_changes_nothing_that_is_trained) {
  const TinyJob job;
  job.folder.write("other.txt", std::string(300, 'q'));
  std::vector<Finished> runs;
  for (const Changes& changes : {Changes{}, Changes{"data.evaluation=\"other.txt\""}}) {
    auto request = job.request(changes);
    ASSERT_TRUE(request) << request.error().message;
    request->output = job.folder.file("run" + std::to_string(runs.size()));
    runs.push_back(run(*request));
  }
  EXPECT_EQ(runs[0].outcome.report["measured"]["allocated_bytes"],
            runs[1].outcome.report["measured"]["allocated_bytes"]);
  EXPECT_EQ(job.folder.read("run0/model.safetensors"), job.folder.read("run1/model.safetensors"));
}

TEST(Evaluation, what_cannot_be_evaluated_is_refused_by_key) {
  const TinyJob job;
  EXPECT_THAT(job.request({"data.evaluation=1.5"}).error().message, HasSubstr("between 0 and 1"));
  EXPECT_THAT(job.request({"data.evaluate_every=5"}).error().message,
              HasSubstr("data to evaluate on"));
  auto request = job.request({"data.evaluation=\"nowhere.txt\""});
  ASSERT_TRUE(request);
  RecordingObserver observer;
  EXPECT_FALSE(train(*request, observer));
}

}  // namespace
}  // namespace headroom::trainer
