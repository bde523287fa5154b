// SPDX-License-Identifier: Apache-2.0
// Whole jobs whose data is conversations, and which tokenizer a job takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tokens/sentencepiece/testing/piece_bytes.h"
#include "trainer/testing/small_talk.h"
#include "trainer/testing/tiny_job.h"

namespace headroom::trainer {
namespace {

using ::testing::AllOf;
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
  EXPECT_THAT(tokenizer({}, "sp"), HasSubstr("sp/tokenizer.model"));
  EXPECT_THAT(tokenizer({"data.tokenizer=\"sp\""}), HasSubstr("sp/tokenizer.model"));
}

// Letters, blanks and digits as pieces; "the" is one of its own.
std::string letters_model(std::size_t more = 0) {
  using tokens::Piece;
  std::vector<Piece> pieces = {
      tokens::testing::unknown, tokens::testing::begin, tokens::testing::end, {"\xe2\x96\x81", -1}};
  for (const char letter : std::string("abcdefghijklmnopqrstuvwxyz0123456789.,?"))
    pieces.push_back({std::string(1, letter), -2});
  pieces.push_back({"the", -0.5F});
  for (std::size_t i = 0; i < more; ++i) pieces.push_back({"x" + std::to_string(i), -9});
  return tokens::testing::model_bytes(pieces, "", "");
}

TEST(Records, a_job_trains_on_the_tokens_of_a_tokenizer_model) {
  const TinyJob job;
  job.folder.write("sp/config.json", testing::tiny_config_json);
  job.folder.write("sp/tokenizer.model", letters_model());
  job.folder.write("text.jsonl", R"({"text": "the the the"})"
                                 "\n"
                                 R"({"text": "a the b"})"
                                 "\n");
  const auto request =
      job.request({"model.config=\"sp\"", "data.path=\"text.jsonl\"", "data.kind=\"jsonl\""});
  ASSERT_TRUE(request) << request.error().message;
  RecordingObserver observer;
  const auto outcome = train(*request, observer);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_TRUE(outcome->status) << outcome->status.error().message;
  EXPECT_THAT(observer.notes,
              Contains(AllOf(HasSubstr("sp/tokenizer.model"), HasSubstr("ends with \"</s>\""))));
}

TEST(Records, a_tokenizer_model_that_is_none_or_too_large_ends_the_run) {
  const TinyJob job;
  job.folder.write("sp/config.json", testing::tiny_config_json);
  const auto error = [&](const std::string& bytes) {
    job.folder.write("sp/tokenizer.model", bytes);
    const auto request =
        job.request({"model.config=\"sp\"", "data.kind=\"jsonl\"", "data.path=\"text.jsonl\""});
    RecordingObserver observer;
    if (!request) return request.error().message;
    const auto outcome = train(*request, observer);
    return outcome ? std::string("none") : outcome.error().message;
  };
  job.folder.write("text.jsonl", R"({"text": "the the"})"
                                 "\n");
  EXPECT_THAT(error(letters_model(1000)), HasSubstr("the model's vocab_size, found 1044"));
  EXPECT_THAT(error(""), HasSubstr("found an empty file"));
  EXPECT_THAT(error(letters_model().substr(0, 100)), HasSubstr("as the length before them says"));
  EXPECT_THAT(error("{}"), HasSubstr("found JSON"));
}

}  // namespace
}  // namespace headroom::trainer
