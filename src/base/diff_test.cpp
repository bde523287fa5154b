// SPDX-License-Identifier: Apache-2.0
#include "base/diff.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

std::string diff(std::string_view before, std::string_view after) {
  return unified_diff(before, after, "a", "b");
}

TEST(Diff, equal_texts_have_none) {
  EXPECT_EQ(diff("", ""), "");
  EXPECT_EQ(diff("one\n", "one\n"), "");
}

TEST(Diff, a_changed_line_stands_between_three_lines_of_context) {
  EXPECT_EQ(diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
            "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST(Diff, changes_far_apart_are_two_hunks_and_near_ones_are_one) {
  EXPECT_EQ(diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "one\n2\n3\n4\n5\n6\n7\n8\nnine\n"),
            "--- a\n+++ b\n@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n"
            "@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+nine\n");
  EXPECT_EQ(diff("1\n2\n3\n", "one\n2\nthree\n"),
            "--- a\n+++ b\n@@ -1,3 +1,3 @@\n-1\n+one\n 2\n-3\n+three\n");
}

TEST(Diff, new_and_removed_files_are_whole) {
  EXPECT_EQ(diff("", "x\n"), "--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n");
  EXPECT_EQ(diff("x\ny\n", ""), "--- a\n+++ b\n@@ -1,2 +0,0 @@\n-x\n-y\n");
}

TEST(Diff, a_missing_last_line_end_is_said) {
  EXPECT_EQ(diff("x\n", "x"), "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+x\n\\ No newline at end of file\n");
}

TEST(Diff, texts_too_large_to_compare_line_by_line_are_replaced_whole) {
  std::string before = "head\n";
  std::string after = "head\n";
  for (int i = 0; i < 9000; ++i) {
    before += "a" + std::to_string(i) + "\n";
    after += "b" + std::to_string(i) + "\n";
  }
  const std::string text = diff(before, after);
  EXPECT_TRUE(text.starts_with("--- a\n+++ b\n@@ -1,9001 +1,9001 @@\n head\n-a0\n"));
  EXPECT_TRUE(text.ends_with("+b8999\n"));
}

}  // namespace
}  // namespace headroom
