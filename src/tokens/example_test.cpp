// SPDX-License-Identifier: Apache-2.0
// Records, templates and what of them is learned.
#include "tokens/example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"
#include "base/json_text.h"

namespace headroom::tokens {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Id end = 256;

// Bytes as tokens, and some texts that are tokens in themselves, one letter each when shown.
class Letters final : public TextEncoder {
 public:
  explicit Letters(std::vector<std::string> added = {}) : added_(std::move(added)) {}
  Status encode(std::string_view text, Around around, std::vector<Id>& ids) override {
    return bytes_.encode(text, around, ids);
  }
  bool has_added(std::string_view token) const override {
    return std::find(added_.begin(), added_.end(), token) != added_.end();
  }
  std::optional<Id> end_of_text() const override { return end; }
  std::string shown(Id id) const override { return bytes_.shown(id); }

 private:
  ByteEncoder bytes_{end};
  std::vector<std::string> added_;
};

// The text of the tokens, with what is learned in braces, and $ for the end of a text.
std::string shown(const std::vector<Id>& tokens) {
  std::string text;
  bool inside = false;
  for (const Id token : tokens) {
    if (is_learned(token) != inside) text += inside ? '}' : '{';
    inside = is_learned(token);
    text += id_of(token) == end ? '$' : static_cast<char>(id_of(token));
  }
  return inside ? text + '}' : text;
}

std::string make(const std::string& line, ChatTemplate chat_template = ChatTemplate::plain,
                 std::vector<std::string> added = {}) {
  const auto record = parse_record(line);
  if (!record) return record.error().message;
  Letters encoder(std::move(added));
  const auto tokens = make_example(*record, chat_template, encoder);
  return tokens ? shown(*tokens) : tokens.error().message;
}

constexpr const char* talk = R"({"messages": [{"role": "system", "content": "be brief"},
  {"role": "user", "content": " 1+1? "}, {"role": "assistant", "content": "2"},
  {"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4 "}]})";

TEST(Example, of_a_text_all_is_learned_of_a_prompt_its_completion) {
  EXPECT_EQ(make(R"({"text": "abc", "source": 7})"), "{abc$}");
  EXPECT_EQ(make(R"({"prompt": "ab", "completion": "c"})"), "ab{c$}");
}

TEST(Example, of_a_conversation_the_answers_are_learned) {
  EXPECT_EQ(make(talk),
            "be brief\n\nUser:  1+1? \nAssistant:{ 2$}\nUser: 2+2?\nAssistant:{ 4 $}\n");
  EXPECT_EQ(make(talk, ChatTemplate::chatml),
            "<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\n 1+1? <|im_end|>\n"
            "<|im_start|>assistant\n{2<|im_end|>}\n<|im_start|>user\n2+2?<|im_end|>\n"
            "<|im_start|>assistant\n{4 <|im_end|>}\n");
  EXPECT_EQ(make(talk, ChatTemplate::llama3, {"<|begin_of_text|>"}),
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nbe brief<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\n1+1?<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n{2<|eot_id|>}"
            "<|start_header_id|>user<|end_header_id|>\n\n2+2?<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n{4<|eot_id|>}");
  EXPECT_EQ(make(talk, ChatTemplate::gemma, {"<bos>"}),
            "<bos><start_of_turn>user\nbe brief\n\n 1+1?<end_of_turn>\n<start_of_turn>model\n"
            "{2<end_of_turn>}\n<start_of_turn>user\n2+2?<end_of_turn>\n<start_of_turn>model\n"
            "{4<end_of_turn>}\n");
  EXPECT_EQ(make(talk, ChatTemplate::mistral, {"<s>", "[INST]"}),
            "<s>[INST] be brief\n\n 1+1? [/INST]{ 2</s>}[INST] 2+2?[/INST]{ 4</s>}");
  EXPECT_EQ(make(talk, ChatTemplate::mistral),
            "[INST] be brief\n\n 1+1?  [/INST]{ 2</s>}[INST] 2+2? [/INST]{ 4</s>}");
}

TEST(Example, of_a_prompt_of_messages_no_answer_is_learned) {
  EXPECT_EQ(
      make(R"({"prompt": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
                                {"role": "user", "content": "c"}],
                     "completion": [{"role": "assistant", "content": "d"}]})",
           ChatTemplate::chatml),
      "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n"
      "<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n{d<|im_end|>}\n");
}

TEST(Example, the_template_is_recognised_by_its_tokens) {
  EXPECT_EQ(recognise_template(Letters({"<|im_start|>"})), ChatTemplate::chatml);
  EXPECT_EQ(recognise_template(Letters({"<|start_header_id|>"})), ChatTemplate::llama3);
  EXPECT_EQ(recognise_template(Letters({"<start_of_turn>"})), ChatTemplate::gemma);
  EXPECT_EQ(recognise_template(Letters({"[INST]", "<s>"})), ChatTemplate::mistral);
  EXPECT_EQ(recognise_template(Letters({"<s>"})), ChatTemplate::plain);
  EXPECT_EQ(find_template("gemma"), ChatTemplate::gemma);
  EXPECT_EQ(find_template("jinja"), std::nullopt);
  EXPECT_EQ(to_string(ChatTemplate::plain), "plain");
}

TEST(Example, targets_are_the_learned_tokens_behind_the_first) {
  EXPECT_EQ(count_targets({}), 0U);
  EXPECT_EQ(count_targets({5}), 0U);
  EXPECT_EQ(count_targets({5, 6, only_read(7), 0}), 2U);
  EXPECT_EQ(id_of(only_read(0)), 0);
  EXPECT_FALSE(is_learned(only_read(0)));
}

// "ab" and "bc" are tokens: the border of "a" and "bc" lies within none, that of "ab" and "c" too,
// and with "abc" as a token both do.
TEST(Example, a_token_across_the_border_of_prompt_and_completion_is_learned) {
  auto tokenizer = Tokenizer::parse(
      R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "<e>": 4},
                    "merges": ["a b"]},
          "added_tokens": [{"id": 4, "content": "<e>", "special": true}]})",
      "t");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  TokenEncoder encoder(*std::move(tokenizer), 4);
  const auto tokens = [&](const std::string& prompt, const std::string& completion) {
    Record record;
    record.kind = Record::Kind::completion;
    record.text = prompt;
    record.completion = completion;
    return *make_example(record, ChatTemplate::plain, encoder);
  };
  EXPECT_THAT(tokens("c", "ab"), ElementsAre(only_read(2), 3, 4));
  EXPECT_THAT(tokens("ca", "bc"), ElementsAre(only_read(2), 3, 2, 4));
  EXPECT_THAT(tokens("ca", "bc<e>"), ElementsAre(only_read(2), 3, 2, 4));
}

TEST(Record, a_line_that_is_none_says_what_was_expected_and_what_it_has) {
  EXPECT_THAT(make("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(make("[1]"), HasSubstr("expected an object on each line"));
  EXPECT_THAT(make(R"({"instruction": "a", "output": "b"})"),
              HasSubstr("expected \"text\", \"messages\", or \"prompt\" and \"completion\", found "
                        "\"instruction\", \"output\""));
  EXPECT_THAT(make("{}"), HasSubstr("found none"));
  EXPECT_THAT(make(R"({"text": 5})"), HasSubstr("/text: expected"));
  EXPECT_THAT(make(R"({"prompt": "a"})"), HasSubstr("/completion"));
  EXPECT_THAT(make(R"({"messages": [{"role": "tool", "content": "x"}]})"),
              HasSubstr("/messages/0/role: expected"));
  EXPECT_THAT(make(R"({"messages": [{"role": "user"}]})"), HasSubstr("/messages/0/content"));
  EXPECT_THAT(make("{\"text\": \"\xff\"}"), HasSubstr("not valid JSON"));
  for (const char* line : {"{", "[1]", "{}", R"({"text": 5})"})
    EXPECT_FALSE(parse_record(line).error().next.empty()) << line;
}

}  // namespace
}  // namespace headroom::tokens
