// SPDX-License-Identifier: Apache-2.0
#include "proof/step_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::proof {
namespace {

struct Heard {
  std::string others;
  StepLines lines{[this](std::string_view text) { others += text; }};

  Heard& hear(std::string_view text) {
    lines.feed(text);
    return *this;
  }
};

std::string begin_of(const std::string& step) {
  return "\nheadroom-step: {\"begin\": \"" + step + "\"}\n";
}

TEST(StepLines, step_is_running_from_its_announcement_to_its_result) {
  Heard heard;
  heard.hear(begin_of("softmax"));
  EXPECT_EQ(heard.lines.running(), "softmax");
  EXPECT_EQ(heard.lines.progress(), 1);
  heard.hear(
      "\nheadroom-step: {\"step\": \"softmax\", \"ok\": true, \"figure\": 0.5, \"unit\": \"s\"}\n");
  EXPECT_EQ(heard.lines.running(), "");
  EXPECT_EQ(heard.lines.progress(), 2);
  ASSERT_EQ(heard.lines.results().size(), 1);
  EXPECT_EQ(heard.lines.results()[0].ok, true);
  EXPECT_EQ(heard.lines.results()[0].figure, 0.5);
}

TEST(StepLines, pieces_of_any_size_are_the_same_lines) {
  const std::string text =
      begin_of("rate") + "warning\nhalf" +
      "\nheadroom-step: {\"step\": \"rate\", \"ok\": null, \"detail\": \"x\"}\n";
  for (std::size_t size = 1; size < text.size(); ++size) {
    Heard heard;
    for (std::size_t at = 0; at < text.size(); at += size) heard.hear(text.substr(at, size));
    ASSERT_EQ(heard.lines.results().size(), 1) << size;
    EXPECT_EQ(heard.lines.results()[0].ok, std::nullopt);
    EXPECT_EQ(heard.others, "warning\nhalf\n") << size;
  }
}

TEST(StepLines, hostile_line_loses_only_itself) {
  const std::vector<std::string> hostile = {
      "headroom-step: ",
      "headroom-step: {",
      "headroom-step: []",
      "headroom-step: \"begin\"",
      "headroom-step: {\"begin\": 1}",
      "headroom-step: {\"begin\": \"no such step\"}",
      "headroom-step: {\"step\": \"rate\", \"ok\": true}",  // Never announced.
      "headroom-step: {\"devices\": {}}",
      "headroom-step: {\"step\": \"\"}",
      "headroom-step: " + std::string(60000, '['),
      "headroom-step: {\"begin\": \"\xff\xfe\"}",
  };
  for (const std::string& line : hostile) {
    Heard heard;
    heard.hear(begin_of("memory")).hear(line + "\n");
    EXPECT_EQ(heard.lines.running(), "memory") << line.substr(0, 80);
    EXPECT_TRUE(heard.lines.results().empty());
    EXPECT_EQ(heard.lines.progress(), 1);
  }
}

TEST(StepLines, value_of_another_kind_is_absent) {
  Heard heard;
  heard.hear(begin_of("rate"))
      .hear(
          "headroom-step: {\"step\": \"rate\", \"ok\": \"yes\", \"figure\": \"9\", \"unit\": 3}\n");
  ASSERT_EQ(heard.lines.results().size(), 1);
  const StepResult& result = heard.lines.results()[0];
  EXPECT_EQ(result.ok, std::nullopt);
  EXPECT_EQ(result.figure, std::nullopt);
  EXPECT_EQ(result.unit, "");
}

TEST(StepLines, endless_line_is_passed_on_and_not_kept) {
  Heard heard;
  heard.hear(begin_of("memory"));
  for (int i = 0; i < 100; ++i) heard.hear(std::string(10000, 'x'));
  heard.hear("\nheadroom-step: {\"step\": \"memory\", \"ok\": true}\n");
  EXPECT_EQ(heard.lines.results().size(), 1);
  EXPECT_EQ(heard.others.size(), 1000001);
}

TEST(StepLines, line_beside_a_gap_is_none_of_ours) {
  Heard heard;
  heard.hear(begin_of("memory")).hear("headroom-step: {\"step\": \"memory\",");
  heard.lines.lose();
  heard.hear(
      "headroom-step: {\"step\": \"memory\", \"ok\": true}\n");  // Its beginning may be lost.
  EXPECT_TRUE(heard.lines.results().empty());
  heard.hear("headroom-step: {\"step\": \"memory\", \"ok\": false, \"kind\": \"memory\"}\n");
  ASSERT_EQ(heard.lines.results().size(), 1);
  EXPECT_EQ(heard.lines.results()[0].cause->id, "hw-error");
}

TEST(StepLines, devices_are_what_is_told_of_them) {
  Heard heard;
  heard.hear(begin_of("import"))
      .hear(
          "headroom-step: {\"devices\": [{\"device\": \"cuda:0\", \"name\": \"A\", \"pci\": "
          "\"0000:03:00.0\", \"target\": null, \"free\": 10, \"total\": -1}, 7], \"version\": "
          "\"2.4\"}\n");
  ASSERT_TRUE(heard.lines.devices());
  ASSERT_EQ(heard.lines.devices()->size(), 1);
  const SeenDevice& device = heard.lines.devices()->front();
  EXPECT_EQ(device.device, "cuda:0");
  EXPECT_EQ(device.pci, "0000:03:00.0");
  EXPECT_EQ(device.target, std::nullopt);
  EXPECT_EQ(device.free, 10);
  EXPECT_EQ(device.total, 0);
  EXPECT_EQ(heard.lines.version(), "2.4");
}

std::string progress_of(const std::string& values) {
  return "headroom-step: {\"progress\": {" + values + "}}\n";
}

TEST(StepLines, training_tells_its_steps_in_order) {
  Heard heard;
  heard.hear(begin_of("training"))
      .hear(
          progress_of(R"("steps": 1, "seconds": 2, "loss": 5.5, "peak_bytes": 7, "peak_by": "x")"))
      .hear(
          progress_of(R"("steps": 2, "seconds": 1, "loss": 5.0, "peak_bytes": 6, "peak_by": "y")"));
  const TrainingProgress& told = heard.lines.training();
  EXPECT_EQ(told.step_s, (std::vector<double>{2, 1}));
  EXPECT_EQ(told.first_loss, 5.5);
  EXPECT_EQ(told.last_loss, 5.0);
  EXPECT_EQ(told.peak_bytes, 7);
  EXPECT_EQ(told.peak_by, "x");
  EXPECT_EQ(heard.lines.progress(), 3);
}

TEST(StepLines, progress_that_cannot_be_counts_nothing) {
  Heard heard;
  heard.hear(progress_of(R"("steps": 1, "seconds": 1)"));  // Outside of a training.
  heard.hear(begin_of("training"));
  for (const char* values :
       {R"("steps": 2, "seconds": 1)", R"("steps": 1, "seconds": -1)", R"("steps": 1)",
        R"("steps": 1, "seconds": 1e999)", R"("steps": "1", "seconds": 1)",
        R"("steps": 18446744073709551615, "seconds": 1)"}) {
    heard.hear(progress_of(values));
  }
  EXPECT_TRUE(heard.lines.training().step_s.empty());
  EXPECT_EQ(heard.lines.progress(), 1);
}

TEST(StepLines, loss_that_is_no_number_is_absent) {
  Heard heard;
  heard.hear(begin_of("training"))
      .hear(progress_of(R"("steps": 1, "seconds": 1, "loss": 5)"))
      .hear(progress_of(R"("steps": 2, "seconds": 1, "loss": null)"));
  EXPECT_EQ(heard.lines.training().first_loss, 5);
  EXPECT_EQ(heard.lines.training().last_loss, std::nullopt);
}

TEST(StepLines, step_that_was_done_is_not_begun_again) {
  Heard heard;
  heard.hear(begin_of("softmax"))
      .hear("headroom-step: {\"step\": \"softmax\", \"ok\": true}\n")
      .hear(begin_of("softmax"));
  EXPECT_EQ(heard.lines.running(), "");
  EXPECT_EQ(heard.lines.progress(), 2);
}

TEST(StepLines, frameworks_are_told_once) {
  Heard heard;
  heard.hear("headroom-step: {\"frameworks\": [\"torch\", 3, \"jax\"]}\n")
      .hear("headroom-step: {\"frameworks\": []}\n");
  ASSERT_TRUE(heard.lines.frameworks());
  EXPECT_EQ(*heard.lines.frameworks(), (std::vector<std::string>{"torch", "jax"}));
}

TEST(StepLines, ranks_that_move_are_progress_and_no_more_than_that) {
  Heard heard;
  heard.hear("\nheadroom-step: {\"together\": {\"at\": \"rank 0: joining\"}}\n");
  EXPECT_EQ(heard.lines.progress(), 0);
  heard.hear(begin_of("ddp"));
  heard.hear("\nheadroom-step: {\"together\": {\"at\": \"rank 0: joining\"}}\n");
  EXPECT_EQ(heard.lines.progress(), 2);
  EXPECT_EQ(heard.lines.running(), "ddp");
}

TEST(StepLines, load_that_goes_on_is_progress_and_time_that_stands_is_none) {
  Heard heard;
  heard.hear("\nheadroom-step: {\"soak\": {\"at\": 1.0, \"seconds\": 0.5}}\n");
  EXPECT_EQ(heard.lines.progress(), 0);  // No load was announced.
  heard.hear(begin_of("soak"));
  heard.hear("\nheadroom-step: {\"soak\": {\"at\": 1.0, \"seconds\": 0.5}}\n");
  heard.hear("\nheadroom-step: {\"soak\": {\"at\": 2.0}}\n");
  EXPECT_EQ(heard.lines.progress(), 3);
  heard.hear("\nheadroom-step: {\"soak\": {\"at\": 2.0, \"seconds\": 0.5}}\n");
  heard.hear("\nheadroom-step: {\"soak\": {\"at\": -3, \"seconds\": 0.5}}\n");
  heard.hear("\nheadroom-step: {\"soak\": 4}\n");
  EXPECT_EQ(heard.lines.progress(), 3);
  ASSERT_EQ(heard.lines.soak().size(), 1);
  EXPECT_EQ(heard.lines.soak()[0].at_s, 1);
  EXPECT_EQ(heard.lines.soak()[0].seconds, 0.5);
}

}  // namespace
}  // namespace headroom::proof
