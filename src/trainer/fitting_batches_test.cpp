// SPDX-License-Identifier: Apache-2.0
// Steps in which memory runs out: they are done again in smaller pieces, and what is trained is
// what a step that fits would have made of it.
#include "trainer/fitting_batches.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "trainer/checkpoint.h"
#include "trainer/safetensors_file.h"
#include "trainer/testing/tiny_job.h"

namespace headroom::trainer {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::RecordingObserver;
using testing::TinyJob;

using Changes = std::vector<std::string>;

// Its activations are some times as large as all the rest.
constexpr const char* config =
    R"({"model_type":"qwen2","hidden_size":64,"intermediate_size":128,"num_hidden_layers":2,)"
    R"("num_attention_heads":4,"num_key_value_heads":2,"vocab_size":257,"rms_norm_eps":1e-6,)"
    R"("tie_word_embeddings":true,"initializer_range":0.02})";

class FittingTest : public ::testing::Test {
 protected:
  FittingTest() {
    job_.folder.write("config.json", config);
    std::string text;
    for (int i = 0; i < 16; ++i) {
      for (int word = 0; word < 34; ++word) text += fmt::format("word{} ", (i * 7 + word) % 30);
      text += "\n\n";
    }
    job_.folder.write("text.txt", text);
  }

  TrainRequest request(const std::string& output, Bytes capacity, const Changes& more = {}) {
    Changes changes = {"batch.micro=8", "batch.sequence=256", "compute.attention=\"math\"",
                       fmt::format("device.capacity=\"{}MiB\"", capacity.value >> 20U)};
    changes.insert(changes.end(), more.begin(), more.end());
    auto made = job_.request(changes);
    EXPECT_TRUE(made) << made.error().message;
    made->output = job_.folder.file(output);
    return *made;
  }

  TrainOutcome run(const TrainRequest& request, RecordingObserver& observer) {
    auto outcome = train(request, observer);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *std::move(outcome) : TrainOutcome{};
  }

  // The largest difference between two models.
  double furthest(const std::string& one, const std::string& other) {
    const auto first = SafetensorsFile::open(job_.folder.file(one + "/model.safetensors"));
    const auto second = SafetensorsFile::open(job_.folder.file(other + "/model.safetensors"));
    EXPECT_TRUE(first && second);
    double most = 0;
    for (const auto& [name, entry] : first->tensors()) {
      const std::vector<std::int64_t> shape(entry.shape.begin(), entry.shape.end());
      const at::Tensor a = at::empty(shape), b = at::empty(shape);
      EXPECT_TRUE(first->read(name, a) && second->read(name, b)) << name;
      most = std::max(most, (a - b).abs().max().item<double>());
    }
    return most;
  }

  TinyJob job_;
};

TEST_F(FittingTest, wherever_memory_runs_out_the_result_is_that_of_the_whole_step) {
  RecordingObserver whole;
  const TrainOutcome fits = run(request("whole", 256_MiB), whole);
  ASSERT_TRUE(fits.status) << fits.status.error().message;
  const auto peak = fits.report["measured"]["reserved_bytes"].get<std::uint64_t>();
  std::set<std::string> seen;
  std::size_t finished = 0;
  for (std::uint64_t capacity = 8U << 20U; capacity < peak; capacity += 2U << 20U) {
    const std::string output = fmt::format("at-{}", capacity >> 20U);
    RecordingObserver observer;
    const TrainOutcome outcome = run(request(output, Bytes{capacity}), observer);
    for (const Json& event : outcome.report["oom_events"])
      seen.insert(fmt::format("{} {}", event["component"].get<std::string>(),
                              event["requested_bytes"].get<std::uint64_t>()));
    if (!outcome.status) continue;  // One sample alone is too large.
    ++finished;
    EXPECT_FALSE(outcome.out_of_memory);
    EXPECT_EQ(outcome.report["completed"], true);
    ASSERT_EQ(observer.steps.size(), whole.steps.size());
    for (std::size_t i = 0; i < whole.steps.size(); ++i) {
      EXPECT_NEAR(observer.steps[i].loss, whole.steps[i].loss, 1e-5) << capacity;
      EXPECT_NEAR(observer.steps[i].gradient_norm, whole.steps[i].gradient_norm, 1e-4) << capacity;
    }
    EXPECT_LT(furthest("whole", output), 1e-4) << capacity;
  }
  EXPECT_GE(finished, 5U);
  EXPECT_GE(seen.size(), 5U) << join(std::vector<std::string>(seen.begin(), seen.end()), ", ");
}

TEST_F(FittingTest, it_is_said_once_and_every_event_is_in_the_report) {
  RecordingObserver observer;
  const TrainOutcome outcome = run(request("out", 24_MiB), observer);
  ASSERT_TRUE(outcome.status) << outcome.status.error().message;
  const Json& events = outcome.report["oom_events"];
  ASSERT_GE(events.size(), 1U);
  EXPECT_EQ(events[0]["step"], 1);
  EXPECT_THAT(observer.notes, Contains(HasSubstr("out of memory with 8 samples at once")));
  EXPECT_EQ(outcome.report["measured"]["capacity_bytes"], 24 << 20);
}

TEST_F(FittingTest, a_resumed_run_goes_on_with_the_pieces_that_fitted) {
  const Changes longer = {"data.epochs=4"};
  RecordingObserver whole;
  ASSERT_TRUE(run(request("whole", 24_MiB, longer), whole).status);
  RecordingObserver first;
  first.stop_after = 2;
  TrainRequest stopped = request("out", 24_MiB, longer);
  ASSERT_FALSE(run(stopped, first).status);
  stopped.resume = true;
  RecordingObserver rest;
  const TrainOutcome outcome = run(stopped, rest);
  ASSERT_TRUE(outcome.status) << outcome.status.error().message;
  EXPECT_EQ(outcome.report["oom_events"].size(), 0U);
  EXPECT_EQ(job_.folder.read("out/model.safetensors"), job_.folder.read("whole/model.safetensors"));
}

TEST_F(FittingTest, an_evaluation_shrinks_as_well) {
  RecordingObserver whole, small;
  const Changes evaluated = {"data.evaluation=0.5", "data.epochs=1"};
  const TrainOutcome fits = run(request("whole", 256_MiB, evaluated), whole);
  const TrainOutcome tight = run(request("out", 16_MiB, evaluated), small);
  ASSERT_TRUE(fits.status && tight.status);
  EXPECT_NEAR(fits.report["evaluation"]["last_loss"].get<double>(),
              tight.report["evaluation"]["last_loss"].get<double>(), 1e-5);
}

TEST_F(FittingTest, one_sample_that_does_not_fit_ends_the_run_with_what_would_help) {
  RecordingObserver observer;
  const TrainOutcome outcome = run(request("out", 4_MiB), observer);
  ASSERT_FALSE(outcome.status);
  EXPECT_EQ(outcome.status.error().code, Errc::out_of_memory);
  ASSERT_TRUE(outcome.out_of_memory);
  EXPECT_EQ(outcome.report["oom_events"].size(), 4U);  // With 8, 4, 2 and 1 at once.
}

}  // namespace
}  // namespace headroom::trainer
