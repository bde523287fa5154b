// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/command_line_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace headroom::plan {
namespace {

using testing::ElementsAre;

std::string set(std::string_view text, const std::string& word) {
  return edit_words(text, {{word}, {}});
}
std::string drop(std::string_view text, const std::string& name) {
  return edit_words(text, {{}, {name}});
}

TEST(command_line_words, a_new_word_comes_last) {
  EXPECT_EQ(set("quiet splash", "iommu=pt"), "quiet splash iommu=pt");
  EXPECT_EQ(set("", "iommu=pt"), "iommu=pt");
  EXPECT_EQ(set("  ", "iommu=pt"), "iommu=pt  ");
  EXPECT_EQ(set("quiet\n", "iommu=pt"), "quiet iommu=pt\n");
}

TEST(command_line_words, another_value_is_replaced_where_it_stands) {
  EXPECT_EQ(set("ro iommu=on  quiet", "iommu=pt"), "ro iommu=pt  quiet");
  EXPECT_EQ(set("iommu=pt", "iommu=pt"), "iommu=pt");
}

TEST(command_line_words, every_former_occurrence_goes) {
  EXPECT_EQ(set("iommu=on ro iommu=off quiet iommu", "iommu=pt"), "iommu=pt ro quiet");
  EXPECT_EQ(drop("a=1 b a=2 c a", "a"), "b c");
}

TEST(command_line_words, dash_and_underscore_are_the_same) {
  EXPECT_EQ(set("ttm.pages-limit=1 ro", "ttm.pages_limit=2"), "ttm.pages_limit=2 ro");
  EXPECT_EQ(drop("amdgpu.vm-size=8 ro", "amdgpu.vm_size"), "ro");
}

TEST(command_line_words, a_name_is_whole) {
  EXPECT_EQ(drop("xamdgpu.gttsize=1 amdgpu.gttsize2=1 amdgpu.gttsize=1", "amdgpu.gttsize"),
            "xamdgpu.gttsize=1 amdgpu.gttsize2=1");
  EXPECT_EQ(drop("foo=amdgpu.gttsize=5", "amdgpu.gttsize"), "foo=amdgpu.gttsize=5");
}

TEST(command_line_words, blanks_in_quotes_belong_to_the_word) {
  EXPECT_EQ(drop(R"(a="x y" b)", "a"), "b");
  EXPECT_EQ(drop(R"("a=x y" b)", "a"), "b");
  EXPECT_EQ(drop(R"(c="x a=1 y" a=2)", "a"), R"(c="x a=1 y")");
}

TEST(command_line_words, what_init_gets_is_left_alone) {
  EXPECT_EQ(set("ro -- single iommu=on", "iommu=pt"), "ro iommu=pt -- single iommu=on");
  EXPECT_EQ(set("-- single", "iommu=pt"), "iommu=pt -- single");
  EXPECT_EQ(drop("iommu=pt -- single", "iommu"), "-- single");
}

TEST(command_line_words, spacing_of_the_rest_stays) {
  EXPECT_EQ(drop("  a   x=1   b ", "x"), "  a   b ");
  EXPECT_EQ(drop("x=1   b", "x"), "b");
  EXPECT_EQ(drop("\tb x", "x"), "\tb");
}

TEST(command_line_words, a_word_to_set_is_one_word) {
  EXPECT_TRUE(check_words({{"iommu=pt", "a=\"b c\""}, {"x"}}));
  EXPECT_FALSE(check_words({{"a b"}, {}}));
  EXPECT_FALSE(check_words({{"a=\"b"}, {}}));
  EXPECT_FALSE(check_words({{""}, {}}));
  EXPECT_FALSE(check_words({{}, {"--"}}));
  EXPECT_FALSE(check_words({{"a=\n"}, {}}));
  EXPECT_FALSE(check_words({{"=5"}, {}}));
}

TEST(command_line_words, finds_words_by_name) {
  EXPECT_THAT(find_arguments("a=1 b a-c=2 a=3 a_c", "a"), ElementsAre("a=1", "a=3"));
  EXPECT_THAT(find_arguments("a=1 b a-c=2 a=3 a_c", "a-c"), ElementsAre("a-c=2", "a_c"));
}

rc::Gen<std::string> lines() {
  return rc::gen::container<std::string>(rc::gen::elementOf(std::string("aaabcq01=.-_\"   \t\n")));
}

std::vector<std::string> all_words(std::string_view text) {
  std::vector<std::string> words;
  for (const WordSpan span : find_words(text)) {
    words.emplace_back(text.substr(span.begin, span.end - span.begin));
  }
  return words;
}

RC_GTEST_PROP(command_line_words, set_then_drop_gives_the_bytes_back, ()) {
  const std::string text = *lines();
  RC_PRE(std::count(text.begin(), text.end(), '"') % 2 == 0);
  RC_PRE(find_arguments(text, "zz.new").empty());
  RC_ASSERT(drop(set(text, "zz.new=5"), "zz.new") == text);
}

RC_GTEST_PROP(command_line_words, setting_leaves_other_words_and_their_order, ()) {
  const std::string text = *lines();
  RC_PRE(std::count(text.begin(), text.end(), '"') % 2 == 0);
  auto expected = all_words(text);
  std::erase_if(expected, [](const auto& word) { return argument_name(word) == "a"; });
  auto found = all_words(set(text, "a=new"));
  RC_ASSERT(std::count(found.begin(), found.end(), "a=new") == 1);
  std::erase_if(found, [](const auto& word) { return argument_name(word) == "a"; });
  RC_ASSERT(found == expected);
}

RC_GTEST_PROP(command_line_words, dropping_twice_changes_nothing_more, ()) {
  const std::string once = drop(*lines(), "a");
  RC_ASSERT(drop(once, "a") == once);
}

}  // namespace
}  // namespace headroom::plan
