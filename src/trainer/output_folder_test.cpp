// SPDX-License-Identifier: Apache-2.0
// What a run finds in its output folder, and what it says when there is no more room in it.
#include "trainer/output_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>

#include "trainer/check_files.h"
#include "trainer/testing/tiny_job.h"

namespace headroom::trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RecordingObserver;
using testing::ScratchFolder;
using testing::TinyJob;

TEST(OutputLock, a_second_run_is_told_who_has_the_folder) {
  const ScratchFolder folder;
  const auto first = OutputLock::take(folder.path());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_FALSE(first->missing());
  const auto second = OutputLock::take(folder.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::busy);
  EXPECT_THAT(second.error().message,
              AllOf(HasSubstr(folder.path()), HasSubstr("process " + std::to_string(::getpid())),
                    HasSubstr("trainer_test")));
  EXPECT_THAT(second.error().next, HasSubstr("--output"));
}

TEST(OutputLock, it_ends_with_its_owner_and_leaves_nothing) {
  const ScratchFolder folder;
  {
    const auto first = OutputLock::take(folder.path());
    ASSERT_TRUE(first);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  folder.write(".headroom.lock", "headroom.lock/1\n1\nelsewhere\na run that was killed\n");
  EXPECT_TRUE(OutputLock::take(folder.path()));
}

TEST(OutputLock, one_that_has_come_to_its_place_meanwhile_is_not_removed_by_the_first) {
  const ScratchFolder folder;
  std::optional<OutputLock> first;
  auto taken = OutputLock::take(folder.path());
  ASSERT_TRUE(taken);
  first.emplace(*std::move(taken));
  // As when the folder is moved away and made again.
  std::filesystem::remove(folder.file(".headroom.lock"));
  const auto second = OutputLock::take(folder.path());
  ASSERT_TRUE(second);
  first.reset();
  const auto third = OutputLock::take(folder.path());
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Errc::busy);
}

TEST(CheckFiles, what_a_run_makes_in_its_folder_is_neither_an_input_nor_the_trace) {
  const TinyJob job;
  const auto request = job.request();
  ASSERT_TRUE(request);
  job.folder.write("out/checkpoint/older", "");  // The folders are there.
  EXPECT_TRUE(check_files(*request, {}));
  for (const char* name : {"report.json", "metrics.jsonl", "allocator.flight", ".headroom.lock",
                           "model.safetensors", "config.json", "checkpoint/state.safetensors"}) {
    const std::string path = request->output + "/" + name;
    machine::InputFiles inputs;
    inputs.files.push_back(path);
    EXPECT_FALSE(check_files(*request, inputs)) << name;
    TrainRequest traced = *request;
    traced.trace_path = path;
    EXPECT_FALSE(check_files(traced, {})) << name;
  }
}

TEST(OutputLock, a_file_of_somebody_else_is_left_alone) {
  const ScratchFolder folder;
  folder.write(".headroom.lock", "mine");
  const auto lock = OutputLock::take(folder.path());
  ASSERT_FALSE(lock);
  EXPECT_FALSE(lock.error().next.empty());
  EXPECT_EQ(folder.read(".headroom.lock"), "mine");
  std::filesystem::remove(folder.file(".headroom.lock"));
  folder.write("other", "theirs");
  std::filesystem::create_symlink("other", folder.file(".headroom.lock"));
  EXPECT_FALSE(OutputLock::take(folder.path()));
  EXPECT_EQ(folder.read("other"), "theirs");
}

TEST(OutputLock, a_holder_that_wrote_nothing_or_rubbish_is_still_one) {
  const ScratchFolder folder;
  const auto first = OutputLock::take(folder.path());
  ASSERT_TRUE(first);
  for (const char* text : {"", "headroom.lock/1", "headroom.lock/1\nx\ny\nz\n"}) {
    folder.write(".headroom.lock", text);
    const auto second = OutputLock::take(folder.path());
    ASSERT_FALSE(second) << text;
    EXPECT_THAT(second.error().message, HasSubstr("another process")) << text;
  }
  folder.write(".headroom.lock", "headroom.lock/1\n7\nelse\x1b[2Jwhere\nrm\x07 -rf\n");
  const auto second = OutputLock::take(folder.path());
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message,
              AllOf(HasSubstr("process 7 on else?[2Jwhere"), HasSubstr("rm? -rf")));
}

// A second run of the same job, tried from inside the first.
class SecondRun final : public Observer {
 public:
  explicit SecondRun(TrainRequest request) : request_(std::move(request)) {}
  void on_note(const std::string& /*text*/) override {}
  void on_evaluation(const EvaluationMetrics& /*metrics*/) override {}
  void on_step(const StepMetrics& /*metrics*/) override {
    if (problem) return;
    RecordingObserver silent;
    const auto outcome = train(request_, silent);
    problem = outcome ? Error{Errc::invalid, "it ran", ""} : outcome.error();
  }
  bool wants_stop() override { return false; }

  std::optional<Error> problem;

 private:
  TrainRequest request_;
};

TEST(OutputFolder, a_second_run_is_refused_while_the_first_runs_resumed_or_not) {
  const TinyJob job;
  auto request = job.request();
  ASSERT_TRUE(request);
  SecondRun fresh(*request);
  ASSERT_TRUE(train(*request, fresh)->status);
  ASSERT_TRUE(fresh.problem);
  EXPECT_EQ(fresh.problem->code, Errc::busy) << fresh.problem->message;

  request = job.request({"data.epochs=4"});
  request->resume = true;
  SecondRun resumed(*request);
  ASSERT_TRUE(train(*request, resumed)->status);
  ASSERT_TRUE(resumed.problem);
  EXPECT_EQ(resumed.problem->code, Errc::busy) << resumed.problem->message;
}

TEST(OutputFolder, the_folder_of_a_model_is_not_written_into) {
  const TinyJob job;
  auto request = job.request();
  request->output = job.folder.path();  // Where the model's config.json lies.
  RecordingObserver observer;
  const auto outcome = train(*request, observer);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("already holds a model (config.json)"));
  EXPECT_EQ(job.folder.read("config.json"), testing::tiny_config_json);
}

TEST(OutputFolder, a_mistyped_folder_to_resume_from_is_not_made) {
  const TinyJob job;
  EXPECT_FALSE(open_output(job.folder.file("typo"), /*resume=*/true));
  EXPECT_FALSE(std::filesystem::exists(job.folder.file("typo")));
}

TEST(OutputFolder, a_run_writes_no_more_than_was_asked_for_before_it_began) {
  for (const std::vector<std::string>& changes : {std::vector<std::string>{"data.epochs=30"},
                                                  {"method.kind=\"lora\"", "data.epochs=3"},
                                                  {"compute.dtype=\"bf16\""}}) {
    const TinyJob job;
    const auto request = job.request(changes);
    RecordingObserver observer;
    ASSERT_TRUE(train(*request, observer)->status);
    const OutputSize size = output_size(
        request->settings,
        {.steps = observer.steps.back().steps, .report_bytes = request->predicted.dump(2).size()});
    const auto written = [&](const std::string& name) {
      return std::filesystem::file_size(job.folder.file("out/" + name));
    };
    const bool lora = request->settings.model.lora.has_value();
    EXPECT_LE(written("checkpoint/state.safetensors"), size.checkpoint);
    EXPECT_LE(written(lora ? "adapter_model.safetensors" : "model.safetensors") +
                  written(lora ? "adapter_config.json" : "config.json"),
              size.result);
    EXPECT_LE(written("metrics.jsonl"), size.metrics);
    EXPECT_LE(written("report.json") + written("report.html"), size.report);
    EXPECT_LE(written("allocator.flight"), size.recording);
    EXPECT_LT(size.total(), 3 * (written("checkpoint/state.safetensors") << 1U) + (4U << 20U));
  }
}

// Files may not become longer from a certain step on, which is what a full disk looks like to them.
class FullDisk final : public Observer {
 public:
  explicit FullDisk(std::uint64_t from) : from_(from) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    before_signal_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~FullDisk() override {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_signal_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

  void on_note(const std::string& /*text*/) override {}
  void on_evaluation(const EvaluationMetrics& /*metrics*/) override {}
  void on_step(const StepMetrics& metrics) override {
    if (metrics.step != from_) return;
    rlimit full = before_;
    full.rlim_cur = 1;
    ::setrlimit(RLIMIT_FSIZE, &full);
  }
  bool wants_stop() override { return false; }

 private:
  std::uint64_t from_;
  rlimit before_{};
  void (*before_signal_)(int) = nullptr;
};

TEST(FullDisk, what_could_not_be_written_what_is_saved_and_how_to_go_on_are_said) {
  const TinyJob job;
  auto request = job.request();  // Two epochs of several steps, a checkpoint after each.
  const std::uint64_t steps = 3;
  Error early;
  Error late;
  {
    FullDisk disk(steps);
    auto outcome = train(*request, disk);
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_FALSE(outcome->status);
    early = outcome->status.error();
    ASSERT_FALSE(outcome->records);
    EXPECT_THAT(outcome->records.error().message, HasSubstr("report.json"));
    EXPECT_EQ(outcome->report["completed"], false);
  }
  EXPECT_EQ(early.code, Errc::no_space);
  EXPECT_THAT(early.message,
              AllOf(HasSubstr("writing " + job.folder.file("out/metrics.jsonl")),
                    HasSubstr("after step 3 could not be saved"), HasSubstr("no checkpoint")));
  EXPECT_THAT(early.next, AllOf(HasSubstr("start again"), Not(HasSubstr("--resume"))));
  {
    FullDisk disk(steps + 3);
    auto outcome = train(*request, disk);
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_FALSE(outcome->status);
    late = outcome->status.error();
  }
  EXPECT_THAT(late.message, AllOf(HasSubstr("metrics.jsonl"),
                                  HasSubstr("is whole, in " +
                                            job.folder.file("out/checkpoint/state.safetensors"))));
  EXPECT_THAT(late.next, AllOf(HasSubstr("free up to"), HasSubstr("--resume")));
  request->resume = true;
  RecordingObserver observer;
  EXPECT_TRUE(train(*request, observer)->status);
}

}  // namespace
}  // namespace headroom::trainer
