// SPDX-License-Identifier: Apache-2.0
#include "knowledge/help_topics.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"

namespace headroom::knowledge {
namespace {

TEST(HelpTopics, each_has_a_name_of_its_own_a_question_and_a_short_text) {
  const auto topics = load_help_topics();
  ASSERT_TRUE(topics.has_value()) << topics.error().message;
  std::set<std::string> ids;
  for (const HelpTopic& topic : *topics) {
    EXPECT_TRUE(ids.insert(topic.id).second) << topic.id;
    EXPECT_FALSE(topic.about.empty()) << topic.id;
    EXPECT_LE(topic.about.size(), 80U) << topic.id;
    const auto lines = split_lines(topic.text);
    EXPECT_GE(lines.size(), 3U) << topic.id;
    EXPECT_LE(lines.size(), 40U) << topic.id << " is a page of docs/, not a help text";
    for (const std::string_view line : lines) {
      if (line.starts_with("  ")) {
        EXPECT_LE(line.size(), 100U) << line;
      }
    }
  }
  for (const char* id :
       {"memory", "ladder", "exit-codes", "environment", "containers", "apu", "wsl"})
    EXPECT_TRUE(ids.contains(id)) << id;
}

TEST(HelpTopics, other_topics_that_a_text_names_exist) {
  const auto topics = load_help_topics();
  ASSERT_TRUE(topics.has_value());
  std::set<std::string, std::less<>> ids;
  for (const HelpTopic& topic : *topics) ids.insert(topic.id);
  for (const HelpTopic& topic : *topics) {
    constexpr std::string_view call = "headroom help ";
    for (std::size_t at = topic.text.find(call); at != std::string::npos;
         at = topic.text.find(call, at + 1)) {
      const std::size_t begin = at + call.size();
      const std::size_t end = topic.text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", begin);
      EXPECT_TRUE(ids.contains(topic.text.substr(begin, end - begin)))
          << topic.text.substr(at, end - at);
    }
  }
}

TEST(HelpTopics, other_words_of_a_topic_are_small_and_mean_one_topic_alone) {
  const auto topics = load_help_topics();
  ASSERT_TRUE(topics.has_value());
  std::set<std::string> words;
  for (const HelpTopic& topic : *topics) words.insert(topic.id);
  for (const HelpTopic& topic : *topics) {
    for (const std::string& word : topic.also) {
      EXPECT_TRUE(words.insert(word).second) << word;
      EXPECT_EQ(word, to_lower(word));
    }
  }
  for (const char* word : {"stack", "env", "rung", "vram", "pool"})
    EXPECT_TRUE(words.contains(word)) << word;
}

TEST(HelpTopics, a_text_may_begin_with_lines_that_are_kept) {
  const auto topics = parse_help_topics(
      "[[topic]]\nid = \"a\"\nabout = \"b\"\ntext = \"\"\"\n\n  one\n  two\n\"\"\"\n");
  ASSERT_TRUE(topics.has_value()) << topics.error().message;
  EXPECT_EQ(topics->at(0).text, "  one\n  two");
}

TEST(HelpTopics, a_wrong_table_is_named_with_its_line) {
  const auto wrong = parse_help_topics("[[topic]]\nid = \"a\"\nabout = \"b\"\n");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().message.find("text"), std::string::npos) << wrong.error().message;
  const auto unknown =
      parse_help_topics("[[topic]]\nid = \"a\"\nabout = \"b\"\ntext = \"c\"\nmore = 1\n");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().message.find("more"), std::string::npos) << unknown.error().message;
}

}  // namespace
}  // namespace headroom::knowledge
