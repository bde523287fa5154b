// SPDX-License-Identifier: Apache-2.0
// Whole jobs whose data another program tokenised.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tokens/testing/token_bytes.h"
#include "trainer/testing/tiny_job.h"

namespace headroom::trainer {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::RecordingObserver;
using testing::TinyJob;
using tokens::testing::npy_bytes;
using tokens::testing::token_bytes;

using Changes = std::vector<std::string>;

// Eight samples of 48 tokens, of varied text.
std::vector<std::int64_t> varied_tokens() {
  std::vector<std::int64_t> tokens;
  std::uint64_t state = 1;
  for (int i = 0; i < 8 * 47 + 1; ++i) {
    state = mix_seed(state, 0);
    tokens.push_back(static_cast<std::int64_t>(state % 257));
  }
  return tokens;
}

struct StoredJob : TinyJob {
  StoredJob() { folder.write("train.bin", token_bytes(varied_tokens(), 2)); }

  Result<TrainRequest> stored(Changes changes = {}) const {
    const bool has_path = std::any_of(changes.begin(), changes.end(), [](const std::string& one) {
      return one.starts_with("data.path=");
    });
    if (!has_path) changes.emplace_back("data.path=\"train.bin\"");
    return request(changes);
  }
};

// Trains; what went wrong, or nothing.
std::string run(const Result<TrainRequest>& request, RecordingObserver& observer) {
  if (!request) return request.error().message;
  const auto outcome = train(*request, observer);
  if (!outcome) return outcome.error().message;
  return outcome->status ? "" : outcome->status.error().message;
}

TEST(StoredJob, what_the_paths_end_in_tells_the_kind) {
  const StoredJob job;
  EXPECT_EQ(job.stored()->settings.data.kind, "bin");
  EXPECT_EQ(job.stored({"data.path=\"a.npy\""})->settings.data.kind, "npy");
  EXPECT_EQ(job.stored({"data.path=[\"a.npy\", \"b.bin\"]"})->settings.data.kind, "text");
  EXPECT_EQ(job.stored({"data.dtype=\"uint32\""})->settings.data.token_type,
            tokens::TokenType::uint32);
  EXPECT_THAT(job.stored({"data.dtype=\"int8\""}).error().message, HasSubstr("data.dtype"));
  EXPECT_THAT(job.stored({"data.path=\"a.npy\"", "data.dtype=\"uint16\""}).error().message,
              HasSubstr("expected kind = \"bin\" beside it"));
}

TEST(StoredJob, a_stream_trains_as_the_same_tokens_in_lines_do) {
  const StoredJob job;
  const std::vector<std::int64_t> tokens = varied_tokens();
  std::string lines;
  for (std::size_t first = 0; first + 48 <= tokens.size(); first += 47) {
    for (std::size_t i = first; i < first + 48; ++i) lines += std::to_string(tokens[i]) + " ";
    lines += "\n";
  }
  job.folder.write("lines.txt", lines);
  const auto losses = [&](const Result<TrainRequest>& request) {
    RecordingObserver observer;
    EXPECT_EQ(run(request, observer), "");
    std::filesystem::remove_all(job.folder.file("out"));
    std::vector<double> all;
    for (const StepMetrics& step : observer.steps) all.push_back(step.loss);
    return all;
  };
  const auto expected = losses(job.request({"data.path=\"lines.txt\"", "data.kind=\"tokens\""}));
  EXPECT_EQ(expected.size(), 8U);
  EXPECT_EQ(losses(job.stored()), expected);
  job.folder.write("train.npy", npy_bytes("'<i8'", "(" + std::to_string(tokens.size()) + ",)",
                                          token_bytes(tokens, 8)));
  EXPECT_EQ(losses(job.stored({"data.path=\"train.npy\""})), expected);
}

TEST(StoredJob, a_run_stopped_anywhere_ends_with_the_same_bytes) {
  const Changes changes = {"data.evaluation=0.3", "data.epochs=2", "batch.micro=1",
                           "batch.accumulate=2"};
  const StoredJob whole;
  RecordingObserver observer;
  ASSERT_EQ(run(whole.stored(changes), observer), "");
  EXPECT_THAT(observer.notes, Contains(HasSubstr("377 token ids")));
  const std::size_t steps = observer.steps.size();
  for (std::size_t after = 1; after < steps; ++after) {
    const StoredJob job;
    RecordingObserver first;
    first.stop_after = after;
    EXPECT_THAT(run(job.stored(changes), first), HasSubstr("stopped by request"));
    auto request = job.stored(changes);
    request->resume = true;
    RecordingObserver second;
    EXPECT_EQ(run(request, second), "");
    EXPECT_EQ(first.steps.size() + second.steps.size(), steps);
    for (const char* file : {"out/model.safetensors", "out/best/model.safetensors"})
      EXPECT_EQ(job.folder.read(file), whole.folder.read(file)) << after;
  }
}

TEST(StoredJob, data_that_changed_before_a_resume_is_noticed) {
  const StoredJob job;
  RecordingObserver observer;
  observer.stop_after = 2;
  ASSERT_THAT(run(job.stored(), observer), HasSubstr("stopped by request"));
  std::vector<std::int64_t> tokens = varied_tokens();
  tokens[200] = (tokens[200] + 1) % 257;
  job.folder.write("train.bin", token_bytes(tokens, 2));
  auto request = job.stored();
  request->resume = true;
  RecordingObserver again;
  EXPECT_THAT(run(request, again), HasSubstr("data.path: checksum of the tokens"));
  // The same tokens elsewhere are the same data.
  job.folder.write("moved.bin", token_bytes(varied_tokens(), 2));
  request = job.stored({"data.path=\"moved.bin\""});
  request->resume = true;
  EXPECT_EQ(run(request, again), "");
}

// Cuts the file short once a step is done.
class CuttingObserver final : public Observer {
 public:
  explicit CuttingObserver(std::string path) : path_(std::move(path)) {}
  void on_note(const std::string& /*text*/) override {}
  void on_step(const StepMetrics& /*metrics*/) override { std::filesystem::resize_file(path_, 2); }
  void on_evaluation(const EvaluationMetrics& /*metrics*/) override {}
  bool wants_stop() override { return false; }

 private:
  std::string path_;
};

TEST(StoredJob, a_file_cut_short_during_the_run_costs_no_step) {
  const StoredJob job;
  const auto request = job.stored();
  ASSERT_TRUE(request);
  CuttingObserver observer(job.folder.file("train.bin"));
  const auto outcome = train(*request, observer);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_FALSE(outcome->status);
  EXPECT_THAT(outcome->status.error().message, HasSubstr("as it had when the run began"));
  job.folder.write("train.bin", token_bytes(varied_tokens(), 2));
  auto resumed = job.stored();
  resumed->resume = true;
  RecordingObserver rest;
  EXPECT_EQ(run(resumed, rest), "");
  EXPECT_THAT(rest.notes, Contains("resuming after step 1"));
  const StoredJob whole;
  ASSERT_EQ(run(whole.stored(), rest), "");
  EXPECT_EQ(job.folder.read("out/model.safetensors"), whole.folder.read("out/model.safetensors"));
}

}  // namespace
}  // namespace headroom::trainer
