// SPDX-License-Identifier: Apache-2.0
// Whole jobs whose data is conversations, and which tokenizer a job takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "trainer/testing/small_talk.h"
#include "trainer/testing/tiny_job.h"

namespace headroom::trainer {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::RecordingObserver;
using testing::small_tokenizer_json;
using testing::talk;
using testing::TinyJob;

TEST(Records, a_job_trains_on_answers_and_says_how_it_read_them) {
  const TinyJob job;
  std::string lines;
  for (int i = 0; i < 6; ++i) lines += std::string(talk) + "\n";
  job.folder.write("talk.jsonl", lines);
  job.folder.write("tokenizer.json", small_tokenizer_json);
  const auto request = job.request(
      {"data.path=\"talk.jsonl\"", "data.tokenizer=\"tokenizer.json\"", "data.epochs=8"});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->settings.data.kind, "jsonl");
  RecordingObserver observer;
  const auto outcome = train(*request, observer);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_TRUE(outcome->status) << outcome->status.error().message;
  EXPECT_THAT(observer.notes, Contains(HasSubstr("by the template chatml")));
  // Two tokens of each sample are learned, and they are always the same.
  EXPECT_NEAR(observer.steps.front().loss, std::log(257), 1);
  EXPECT_LT(observer.steps.back().loss, observer.steps.front().loss / 2);
}

TEST(Records, a_models_own_tokenizer_is_taken_unless_the_job_says_bytes) {
  const TinyJob job;
  job.folder.write("model/config.json", testing::tiny_config_json);
  job.folder.write("model/tokenizer.json", small_tokenizer_json);
  const auto tokenizer = [&](std::vector<std::string> changes, const std::string& model = "model") {
    changes.push_back("model.config=\"" + model + "\"");
    const auto request = job.request(changes);
    return request ? request->settings.data.tokenizer : request.error().message;
  };
  EXPECT_THAT(tokenizer({}), HasSubstr("model/tokenizer.json"));
  EXPECT_EQ(tokenizer({"data.tokenizer=\"bytes\""}), "");
  EXPECT_EQ(tokenizer({"data.kind=\"tokens\""}), "");
  EXPECT_THAT(tokenizer({"data.template=\"jinja\""}), HasSubstr("data.template"));
  job.folder.write("sp/config.json", testing::tiny_config_json);
  job.folder.write("sp/tokenizer.model", "x");
  EXPECT_THAT(tokenizer({}, "sp"), HasSubstr("found tokenizer.model alone"));
}

}  // namespace
}  // namespace headroom::trainer
