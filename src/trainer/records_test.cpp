// SPDX-License-Identifier: Apache-2.0
// Data by a tokenizer and from .jsonl files, as a job asks for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/data/samples.h"
#include "trainer/testing/scratch_folder.h"
#include "trainer/testing/small_talk.h"

namespace headroom::trainer::data {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScratchFolder;
using testing::small_tokenizer_json;
using testing::talk;

struct Data {
  Data() {
    folder.write("tokenizer.json", small_tokenizer_json);
    folder.write("talk.jsonl", std::string(talk) + "\n");
    source = {.paths = {folder.file("talk.jsonl")},
              .kind = "jsonl",
              .longest = 100,
              .vocabulary = 13,
              .tokenizer = folder.file("tokenizer.json")};
  }
  ScratchFolder folder;
  Source source;
};

TEST(Records, a_conversation_is_read_by_the_template_that_its_tokens_tell) {
  const Data data;
  std::vector<std::string> notes;
  const auto samples = read_samples(data.source, notes);
  ASSERT_TRUE(samples) << samples.error().message;
  // <|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n yo<|im_end|> \n; a, n, r and t are no
  // tokens of this one.
  EXPECT_THAT(*samples, ElementsAre(ElementsAre(~10, ~7, ~8, ~9, ~4, ~5, ~11, ~4, ~10, ~8, ~8, ~1,
                                                ~8, ~4, 6, 11, ~4)));
  EXPECT_THAT(notes, Contains(HasSubstr("conversations by the template chatml, as")));
  EXPECT_THAT(notes, Contains(HasSubstr("tokens by " + data.source.tokenizer)));
}

TEST(Records, the_template_of_the_job_goes_first) {
  Data data;
  data.source.chat_template = "plain";
  std::vector<std::string> notes;
  ASSERT_TRUE(read_samples(data.source, notes));
  EXPECT_THAT(notes, Contains(HasSubstr("conversations by the template plain: 1")));
}

TEST(Records, a_text_ends_with_the_token_of_tokenizer_config_or_of_config) {
  Data data;
  data.folder.write("text.jsonl", R"({"text": "hiyo"})");
  data.source.paths = {data.folder.file("text.jsonl")};
  EXPECT_THAT(*read_samples(data.source), ElementsAre(ElementsAre(5, 6)));
  data.source.end_of_text = 11;
  EXPECT_THAT(*read_samples(data.source), ElementsAre(ElementsAre(5, 6, 11)));
  data.folder.write("tokenizer_config.json", R"({"eos_token": "<eos>"})");
  EXPECT_THAT(*read_samples(data.source), ElementsAre(ElementsAre(5, 6, 12)));
  data.folder.write("tokenizer_config.json", R"({"eos_token": {"content": "<eos>"}})");
  EXPECT_THAT(*read_samples(data.source), ElementsAre(ElementsAre(5, 6, 12)));
}

TEST(Records, text_files_go_through_the_tokenizer_too) {
  Data data;
  data.folder.write("texts/a.txt", "hi\n\nyo\n");
  data.folder.write("texts/b.md", "yo yo");
  data.source.paths = {data.folder.file("texts")};
  data.source.kind = "text";
  EXPECT_THAT(*read_samples(data.source), ElementsAre(ElementsAre(5, 4, 4, 6), ElementsAre(6, 6)));
}

TEST(Records, bytes_have_conversations_as_well) {
  Data data;
  data.source.tokenizer = "";
  data.source.vocabulary = 257;
  const auto samples = read_samples(data.source);
  ASSERT_TRUE(samples) << samples.error().message;
  const std::string prompt = "User: hi\nAssistant:";
  ASSERT_EQ((*samples)[0].size(), prompt.size() + 3 + 2);
  EXPECT_EQ((*samples)[0][0], ~'U');
  EXPECT_EQ((*samples)[0][prompt.size()], ' ');
  EXPECT_EQ((*samples)[0][prompt.size() + 3], end_of_sample);
}

TEST(Records, what_is_wrong_is_told_with_the_file_the_line_and_what_to_do) {
  Data data;
  const auto complaint = [&](const std::string& lines) {
    data.folder.write("talk.jsonl", lines);
    const auto samples = read_samples(data.source);
    if (samples) return std::string("nothing");
    EXPECT_FALSE(samples.error().next.empty()) << samples.error().message;
    return samples.error().message;
  };
  const std::string file = data.folder.file("talk.jsonl");
  EXPECT_THAT(complaint("{\"text\": \"hi\"}\n{\"text\""),
              HasSubstr(file + ", line 2: not valid JSON"));
  EXPECT_THAT(complaint("{\"texts\": \"hi\"}"), HasSubstr(file + ", line 1: expected \"text\""));
  EXPECT_THAT(complaint(""), HasSubstr("data.path: expected lines with something to learn"));
  EXPECT_THAT(complaint("{\"prompt\": \"hi\", \"completion\": \"\"}"),
              AnyOf(HasSubstr("something to learn"), HasSubstr("nothing")));
  data.source.vocabulary = 6;
  EXPECT_THAT(
      complaint("{\"text\": \"hiyo\"}"),
      HasSubstr(file + ", line 1: expected tokens with ids below 6, the model's vocab_size, "
                       "found 6, which is \"yo\""));
  data.folder.write("tokenizer.json", "{}");
  EXPECT_THAT(complaint("{\"text\": \"hi\"}"), HasSubstr(data.source.tokenizer));
  data.source.tokenizer = data.folder.file("none.json");
  EXPECT_THAT(complaint("{\"text\": \"hi\"}"), HasSubstr("none.json"));
}

}  // namespace
}  // namespace headroom::trainer::data
