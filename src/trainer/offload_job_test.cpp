// SPDX-License-Identifier: Apache-2.0
// Whole jobs with and without host memory: the same model, plans that are right, resuming from one
// to the other, and the end of a job that has too little of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "trainer/compare_peaks.h"
#include "trainer/testing/tiny_job.h"

namespace headroom::trainer {
namespace {

using ::testing::HasSubstr;
using testing::RecordingObserver;
using testing::TinyJob;

using Changes = std::vector<std::string>;

const Changes both = {"optimizer.offload=true", "compute.activation_offloading=true",
                      "device.host_capacity=\"64MiB\""};

Changes joined(Changes first, const Changes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

struct Ran {
  Json report;
  std::string model;
  std::string checkpoint;
  std::string error, next;
  std::vector<StepMetrics> steps;
  std::vector<std::string> notes;
};

Ran run(const TinyJob& job, const Changes& changes, const std::string& output,
        std::optional<std::size_t> stop_after = {}, bool resume = false) {
  auto request = job.request(changes);
  if (!request) return {{}, "", "", request.error().message, request.error().next, {}, {}};
  request->output = job.folder.file(output);
  request->resume = resume;
  RecordingObserver observer;
  observer.stop_after = stop_after;
  const auto outcome = train(*request, observer);
  if (!outcome) return {{}, "", "", outcome.error().message, outcome.error().next, {}, {}};
  Ran ran{outcome->report, "", "", "", "", observer.steps, observer.notes};
  if (!outcome->status) {
    ran.error = outcome->status.error().message;
    ran.next = outcome->status.error().next;
    return ran;
  }
  const bool lora = outcome->report["settings"]["method"] == "lora";
  ran.model = job.folder.read(output + (lora ? "/adapter_model" : "/model") + ".safetensors");
  ran.checkpoint = job.folder.read(output + "/checkpoint/state.safetensors");
  return ran;
}

TEST(OffloadedJob, the_model_and_the_checkpoint_are_the_same_to_the_byte) {
  for (const Changes& job_changes :
       {Changes{},
        {"compute.checkpointing=\"layer\"", "compute.dtype=\"bf16\""},
        {"method.kind=\"lora\"", "method.dropout=0.1", "batch.accumulate=2"},
        {"optimizer.kind=\"adafactor\""},
        {"optimizer.kind=\"adamw8bit\"", "optimizer.master=\"fp32\"", "compute.dtype=\"bf16\""},
        {"data.packing=true"},
        {"optimizer.kind=\"sgd\"", "optimizer.momentum=0.9"}}) {
    const TinyJob job;
    const Ran plain = run(job, job_changes, "plain");
    ASSERT_EQ(plain.error, "");
    EXPECT_FALSE(plain.report["measured"].contains("host"));
    EXPECT_FALSE(plain.steps.back().host_live_peak_bytes);
    for (const Changes& offloaded : {both, {both[0]}, {both[1]}}) {
      const Ran found = run(job, joined(job_changes, offloaded), "offloaded");
      ASSERT_EQ(found.error, "");
      EXPECT_EQ(found.model, plain.model);
      EXPECT_EQ(found.checkpoint, plain.checkpoint);
      std::filesystem::remove_all(job.folder.file("offloaded"));
    }
  }
}

std::uint64_t bytes(const Json& memory) {
  return memory["allocated_bytes"].get<std::uint64_t>();
}

TEST(OffloadedJob, the_plan_knows_both_peaks_and_the_device_holds_less) {
  const TinyJob job;
  // In one piece, so that samples are as long as the plan takes them for.
  std::string text;
  for (int i = 0; i < 40; ++i) text += "Memory is asked for in pieces, and they differ in size. ";
  job.folder.write("text.txt", text);
  const Changes large = {"batch.sequence=200", "data.epochs=1"};
  const Ran plain = run(job, large, "plain");
  const Ran found = run(job, joined(large, both), "offloaded");
  ASSERT_EQ(plain.error, "");
  ASSERT_EQ(found.error, "");
  const Json& measured = found.report["measured"];
  const Json& predicted = found.report["predicted"];
  EXPECT_EQ(bytes(measured["host"]), bytes(predicted["host"]));
  EXPECT_EQ(measured["host"]["components"], predicted["host"]["components"]);
  EXPECT_EQ(measured["host"]["capacity_bytes"], 64 << 20);
  EXPECT_NEAR(static_cast<double>(bytes(measured)), static_cast<double>(bytes(predicted)),
              0.01 * static_cast<double>(bytes(measured)));
  EXPECT_EQ(measured["component_peaks"]["optimizer"], 0);
  const auto states = plain.report["measured"]["component_peaks"]["optimizer"];
  EXPECT_EQ(measured["host"]["components"]["optimizer"], states);
  EXPECT_LE(bytes(measured) + states.get<std::uint64_t>(), bytes(plain.report["measured"]));
  EXPECT_EQ(found.steps.back().host_live_peak_bytes, bytes(measured["host"]));
  EXPECT_THAT(peak_of(found.steps.back()), HasSubstr(" of host memory"));
  EXPECT_THAT(compare_peaks(found.report), HasSubstr("; of host memory "));
  EXPECT_EQ(found.report["settings"]["host_capacity_from"], "device.host_capacity");
}

TEST(OffloadedJob, a_run_is_resumed_with_and_without) {
  const TinyJob job;
  const std::string whole = run(job, {}, "whole").model;
  for (const auto& [first, second] :
       {std::pair{Changes{}, both}, {both, Changes{}}, {both, both}}) {
    EXPECT_THAT(run(job, first, "out", 2).error, HasSubstr("stopped by request"));
    const Ran rest = run(job, second, "out", {}, true);
    EXPECT_EQ(rest.error, "");
    EXPECT_EQ(rest.model, whole);
    std::filesystem::remove_all(job.folder.file("out"));
  }
}

TEST(OffloadedJob, without_a_limit_it_takes_what_the_machine_has_free) {
  const TinyJob job;
  const Ran found = run(job, {both[0]}, "out");
  ASSERT_EQ(found.error, "");
  EXPECT_EQ(found.report["settings"]["host_capacity_from"], "free RAM");
  EXPECT_GT(found.report["measured"]["host"]["capacity_bytes"], 1 << 20);
}

TEST(OffloadedJob, a_limit_above_what_is_free_is_said) {
  const TinyJob job;
  const auto says_so = [&](const char* capacity, const std::string& output) {
    const Ran found = run(job, {both[0], capacity}, output);
    EXPECT_EQ(found.error, "");
    const std::string all = join(found.notes, "\n");
    return all.find("device.host_capacity is 4.00 TiB, and ") != std::string::npos;
  };
  EXPECT_TRUE(says_so("device.host_capacity=\"4TiB\"", "out"));
  EXPECT_FALSE(says_so("device.host_capacity=\"64MiB\"", "other"));
}

TEST(OffloadedJob, too_little_host_memory_is_an_error_that_says_how_much) {
  const TinyJob job;
  const Ran none = run(job, {both[0], "device.host_capacity=\"64KiB\""}, "none");
  EXPECT_THAT(none.error, HasSubstr("the optimizer state alone needs"));
  EXPECT_THAT(none.next, HasSubstr("device.host_capacity"));
  // Enough for the states, and not for what layers keep as well.
  const Changes large = {both[0], both[1], "batch.sequence=200", "batch.micro=8",
                         "compute.attention=\"math\""};
  const Ran little = run(job, joined(large, {"device.host_capacity=\"2MiB\""}), "little");
  EXPECT_THAT(little.error, HasSubstr("out of host memory: expected room for"));
  EXPECT_THAT(little.next, HasSubstr("device.host_capacity"));
  EXPECT_EQ(little.report["oom_events"].size(), 0U);
  const Ran enough = run(job, joined(large, {"device.host_capacity=\"64MiB\""}), "enough");
  EXPECT_EQ(enough.error, "");
}

// The states are made in the first step: what fits before does not beside them. What was trained
// until then is kept.
TEST(OffloadedJob, out_of_host_memory_in_the_second_step_leaves_a_checkpoint) {
  const TinyJob job;
  job.folder.write(
      "config.json",
      R"({"model_type":"qwen2","hidden_size":256,"intermediate_size":512,"num_hidden_layers":2,)"
      R"("num_attention_heads":4,"num_key_value_heads":2,"vocab_size":257,"rms_norm_eps":1e-6,)"
      R"("tie_word_embeddings":true})");
  const Changes changes = {"batch.sequence=100",         "batch.micro=4", "data.epochs=3",
                           "device.capacity=\"256MiB\"", both[0],         both[1]};
  const Ran whole = run(job, joined(changes, {both[2]}), "whole");
  ASSERT_EQ(whole.error, "");
  const Json& host = whole.report["measured"]["host"]["components"];
  const auto states = host["optimizer"].get<std::uint64_t>();
  const auto kept = host["activations"].get<std::uint64_t>();
  ASSERT_GT(kept, 4U << 20U);
  const std::uint64_t capacity = (std::max(states, kept) + (2U << 20U)) >> 20U;
  const Ran failed =
      run(job, joined(changes, {fmt::format("device.host_capacity=\"{}MiB\"", capacity)}), "out");
  EXPECT_THAT(failed.error, HasSubstr("out of host memory"));
  ASSERT_EQ(failed.steps.size(), 1U);
  const Ran rest = run(job, joined(changes, {both[2]}), "out", {}, true);
  ASSERT_EQ(rest.error, "");
  EXPECT_EQ(rest.steps.front().step, 2U);
  EXPECT_EQ(rest.model, whole.model);
}

}  // namespace
}  // namespace headroom::trainer
