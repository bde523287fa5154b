// SPDX-License-Identifier: Apache-2.0
// Whole jobs with data.packing = true.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/data/epoch.h"
#include "trainer/testing/tiny_job.h"

namespace headroom::trainer {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::RecordingObserver;
using testing::TinyJob;

using Changes = std::vector<std::string>;

// Twenty samples of 3 to 60 tokens.
struct PackedJob : TinyJob {
  PackedJob() {
    std::string lines;
    for (int i = 0; i < 20; ++i) {
      for (int token = 0; token < 3 + i * 3; ++token)
        lines += fmt::format("{} ", (i + token) % 250);
      lines += '\n';
    }
    folder.write("ids.txt", lines);
  }

  Result<TrainRequest> packed(const Changes& more = {}, bool packing = true) const {
    Changes changes = {"data.path=\"ids.txt\"", "data.kind=\"tokens\"", "batch.sequence=64",
                       fmt::format("data.packing={}", packing)};
    changes.insert(changes.end(), more.begin(), more.end());
    return request(changes);
  }
};

struct Finished {
  TrainOutcome outcome;
  RecordingObserver observer;
};

Finished run(const Result<TrainRequest>& request, std::optional<std::size_t> stop_after = {}) {
  Finished finished;
  finished.observer.stop_after = stop_after;
  if (!request) {
    ADD_FAILURE() << request.error().message;
    return finished;
  }
  auto outcome = train(*request, finished.observer);
  if (outcome) {
    finished.outcome = *std::move(outcome);
  } else {
    finished.outcome.status = outcome.error();
  }
  return finished;
}

TEST(PackingJob, a_batch_counts_rows_and_every_sample_is_trained_on_once_an_epoch) {
  const PackedJob job;
  const Finished packed = run(job.packed({"data.epochs=3"}));
  ASSERT_TRUE(packed.outcome.status) << packed.outcome.status.error().message;
  const Json& report = packed.outcome.report;
  const Json& settings = report["settings"];
  EXPECT_EQ(settings["packing"], true);
  EXPECT_EQ(settings["data_samples"], 20);
  const auto rows = settings["data_rows"].get<std::uint64_t>();
  EXPECT_EQ(rows, 10U);  // 630 tokens in rows of 64.
  EXPECT_GT(settings["padding_unpacked"].get<double>(), 0.1);
  EXPECT_EQ(report["samples"], 60);
  EXPECT_EQ(report["tokens"], 3 * settings["data_tokens"].get<std::uint64_t>());
  EXPECT_EQ(packed.observer.steps.size(), 3 * rows / 2);
  EXPECT_THAT(packed.observer.notes,
              Contains(HasSubstr("data.packing: 20 samples in 10 rows of up to 64 tokens")));
  EXPECT_LT(packed.observer.steps.back().loss, packed.observer.steps.front().loss);
}

// All samples in one step, of whose tokens the loss is the mean; and in one evaluation.
TEST(PackingJob, the_loss_of_the_same_samples_is_that_of_an_unpacked_job) {
  const PackedJob job;
  const Changes all = {"batch.micro=50", "data.epochs=1", "data.evaluation=\"ids.txt\""};
  const Finished packed = run(job.packed(all));
  auto request = job.packed(all, /*packing=*/false);
  ASSERT_TRUE(request) << request.error().message;
  request->output = job.folder.file("unpacked");
  const Finished padded = run(request);
  ASSERT_TRUE(packed.outcome.status && padded.outcome.status);
  ASSERT_EQ(packed.observer.steps.size(), 1U);
  EXPECT_NEAR(packed.observer.steps[0].loss, padded.observer.steps[0].loss, 1e-5);
  EXPECT_NEAR(packed.observer.steps[0].gradient_norm / padded.observer.steps[0].gradient_norm, 1,
              1e-4);
  EXPECT_NEAR(packed.observer.evaluations[0].loss, padded.observer.evaluations[0].loss, 1e-4);
}

TEST(PackingJob, a_run_stopped_anywhere_ends_with_the_same_bytes) {
  for (const Changes& changes :
       {Changes{"data.evaluation=0.2"},
        Changes{"method.kind=\"lora\"", "method.dropout=0.1", "compute.dtype=\"bf16\""}}) {
    const PackedJob job;
    const auto whole = job.packed(changes);
    const Finished expected = run(whole);
    ASSERT_TRUE(expected.outcome.status) << expected.outcome.status.error().message;
    for (std::size_t after = 1; after < expected.observer.steps.size(); after += 2) {
      TrainRequest parts = *whole;
      parts.output = job.folder.file(fmt::format("after-{}", after));
      EXPECT_FALSE(run(parts, after).outcome.status);
      parts.resume = true;
      const Finished rest = run(parts);
      ASSERT_TRUE(rest.outcome.status) << rest.outcome.status.error().message;
      EXPECT_EQ(job.folder.read(fmt::format("after-{}/checkpoint/state.safetensors", after)),
                job.folder.read("out/checkpoint/state.safetensors"));
    }
  }
}

TEST(PackingJob, a_checkpoint_goes_on_packed_as_it_began) {
  const PackedJob job;
  EXPECT_FALSE(run(job.packed(), 1).outcome.status);
  auto request = job.packed({}, /*packing=*/false);
  ASSERT_TRUE(request);
  request->resume = true;
  const Finished refused = run(request);
  ASSERT_FALSE(refused.outcome.status);
  EXPECT_THAT(refused.outcome.status.error().message,
              HasSubstr("data.packing: expected true as in the checkpoint, found false"));
}

TEST(PackingJob, rows_that_do_not_fit_together_are_done_one_after_the_other) {
  const PackedJob job;
  const Changes step = {"batch.micro=10", "data.epochs=2"};
  const Finished whole = run(job.packed(step));
  auto request = job.packed(step);
  ASSERT_TRUE(request) << request.error().message;
  const auto peak = whole.outcome.report["measured"]["allocated_bytes"].get<std::uint64_t>();
  request->settings.capacity = Bytes{peak * 2 / 3};
  request->output = job.folder.file("small");
  const Finished split = run(request);
  ASSERT_TRUE(split.outcome.status) << split.outcome.status.error().message;
  EXPECT_THAT(split.observer.notes, Contains(HasSubstr("out of memory with 10 rows at once")));
  ASSERT_EQ(split.observer.steps.size(), whole.observer.steps.size());
  for (std::size_t i = 0; i < whole.observer.steps.size(); ++i)
    EXPECT_NEAR(split.observer.steps[i].loss, whole.observer.steps[i].loss, 1e-5);
}

TEST(PackingJob, the_plan_holds) {
  const PackedJob job;
  for (const Changes& changes :
       {Changes{}, Changes{"compute.attention=\"math\""}, Changes{"compute.dtype=\"bf16\""}}) {
    auto request = job.packed(changes);
    ASSERT_TRUE(request);
    request->output = job.folder.file(fmt::format("plan-{}", changes.empty() ? "" : changes[0]));
    const Finished finished = run(request);
    ASSERT_TRUE(finished.outcome.status);
    const auto measured = finished.outcome.report["measured"]["allocated_bytes"].get<double>();
    const double share = measured / request->predicted["allocated_bytes"].get<double>();
    EXPECT_LE(share, 1.01);
    EXPECT_GE(share, 0.9);
  }
}

// As many tokens as there are, and of attention as much as its samples take.
TEST(PackingJob, an_epoch_of_packed_samples_is_counted) {
  const PackedJob job;
  ASSERT_TRUE(job.packed({"batch.micro=2"}));
  const auto loaded = run::load_job(job.folder.file("job.toml"));
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto epoch = data::count_epoch(*loaded);
  ASSERT_TRUE(epoch) << epoch.error().message;
  EXPECT_EQ(epoch->steps, 5U);
  double tokens = 0, squares = 0;
  for (const auto& [shape, count] : epoch->training) {
    const auto samples = static_cast<double>(shape.samples);
    const auto length = static_cast<double>(shape.length);
    tokens += count * samples * length;
    squares += count * samples * length * length;
  }
  double exact = 0;
  for (int i = 0; i < 20; ++i) exact += (3.0 + 3 * i) * (3 + 3 * i);
  EXPECT_NEAR(tokens / 630, 1, 0.02);
  EXPECT_NEAR(squares / exact, 1, 0.1);
}

}  // namespace
}  // namespace headroom::trainer
