// SPDX-License-Identifier: Apache-2.0
#include "deploy/key_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::deploy {
namespace {

using testing::HasSubstr;

std::string edited(const std::string& text, const std::map<std::string, std::string>& keys) {
  const auto done = edit_keys("a.conf", text, keys);
  return done ? *done : done.error().message;
}

TEST(KeyEdit, only_the_value_changes) {
  EXPECT_EQ(edited("# workers = 9\nworkers=1  # few\r\nthreads = 2\n", {{"workers", "4"}}),
            "# workers = 9\nworkers=4  # few\r\nthreads = 2\n");
  EXPECT_EQ(edited("a = \"1\"\n", {{"a", "23"}}), "a = \"23\"\n");
  EXPECT_EQ(edited("a =\n", {{"a", "1"}}), "a =1\n");
}

TEST(KeyEdit, a_name_that_is_not_there_is_added_on_a_line_of_its_own) {
  EXPECT_EQ(edited("a = 1", {{"b", "2"}}), "a = 1\nb = 2\n");
  EXPECT_EQ(edited("", {{"b", "2"}}), "b = 2\n");
  EXPECT_EQ(edited("a = 1\r\n", {{"b", "2"}}), "a = 1\r\nb = 2\r\n");
}

TEST(KeyEdit, where_it_is_not_plain_nothing_is_edited) {
  EXPECT_THAT(edited("a = 1\nb = 2\na = 3\n", {{"a", "4"}}), HasSubstr("two, in lines 1 and 3"));
  EXPECT_THAT(edited("[x]\nb = 2\n", {{"a", "4"}}), HasSubstr("sections"));
  EXPECT_EQ(edited("[x]\na = 2\n", {{"a", "4"}}), "[x]\na = 4\n");
  EXPECT_THAT(edited("a = 1\n", {{"a", "4 # 5"}}), HasSubstr("does not take"));
}

TEST(KeyEdit, values_are_read_without_quotes_and_comments) {
  const auto keys = read_keys("a = '1 2'  # x\n;b=3\nc = 4;5\n = 6\nd\n");
  EXPECT_EQ(keys, (std::map<std::string, std::string>{{"a", "1 2"}, {"c", "4;5"}}));
}

}  // namespace
}  // namespace headroom::deploy
