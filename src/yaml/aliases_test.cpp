// SPDX-License-Identifier: Apache-2.0
#include "yaml/aliases.h"

#include <gtest/gtest.h>

#include <string>

namespace headroom {
namespace {

// What the file means, or the error.
std::string filled(std::string_view text) {
  auto tree = parse_yaml(text);
  if (!tree) return tree.error().message;
  const auto found = fill_in_aliases(*std::move(tree));
  return found ? meaning_of(*found) : found.error().message;
}

std::string plain(std::string_view text) {
  return meaning_of(*parse_yaml(text));
}

TEST(Aliases, an_alias_stands_for_what_its_anchor_named) {
  EXPECT_EQ(filled("a: &devices [/dev/kfd, /dev/dri]\nb: *devices\n"),
            plain("a: [/dev/kfd, /dev/dri]\nb: [/dev/kfd, /dev/dri]\n"));
}

TEST(Aliases, own_entries_win_over_merged_ones_and_earlier_maps_over_later_ones) {
  EXPECT_EQ(filled("x: &x {image: one, tty: 1}\ny: &y {image: two, init: 2}\n"
                   "s:\n  <<: [*x, *y]\n  tty: 3\n"),
            plain("x: {image: one, tty: 1}\ny: {image: two, init: 2}\n"
                  "s: {tty: 3, image: one, init: 2}\n"));
}

TEST(Aliases, an_anchor_holds_until_its_name_is_given_again) {
  EXPECT_EQ(filled("a: &n 1\nb: *n\nc: &n 2\nd: *n\n"), plain("a: 1\nb: 1\nc: 2\nd: 2\n"));
}

TEST(Aliases, a_merge_reaches_through_a_merged_map) {
  EXPECT_EQ(filled("a: &a {k: 1}\nb: &b {<<: *a, l: 2}\nc: {<<: *b}\n"),
            plain("a: {k: 1}\nb: {l: 2, k: 1}\nc: {l: 2, k: 1}\n"));
}

TEST(Aliases, one_within_its_own_anchor_and_one_without_an_anchor_stay) {
  const auto tree = parse_yaml("a: &a [1, *a]\nb: *none\n");
  ASSERT_TRUE(tree.has_value());
  const auto found = fill_in_aliases(*tree);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->find("a")->items[1].kind, YamlNode::Kind::alias);
  EXPECT_EQ(found->find("b")->kind, YamlNode::Kind::alias);
}

TEST(Aliases, nested_ones_that_would_fill_the_memory_are_refused) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) text += (j == 0 ? "" : ", ") + below;
    text += "]\n";
  }
  EXPECT_EQ(filled(text),
            "expected at most 100,000 values, found more, counted with what aliases stand for");
}

}  // namespace
}  // namespace headroom
