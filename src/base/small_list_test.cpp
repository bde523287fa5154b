// SPDX-License-Identifier: Apache-2.0
#include "base/small_list.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace headroom {
namespace {

using Texts = SmallList<std::string, 2>;
const std::string first = "the first text, too long to be kept in the string itself";
const std::string second = "the second text, too long to be kept in the string itself";

TEST(SmallList, grows_beyond_what_it_holds_itself) {
  Texts texts;
  for (int i = 0; i < 100; ++i) texts.push_back(first + std::to_string(i));
  ASSERT_EQ(texts.size(), 100U);
  EXPECT_EQ(texts.front(), first + "0");
  EXPECT_EQ(texts.back(), first + "99");
}

TEST(SmallList, a_copy_is_its_own) {
  for (const std::size_t more : {0U, 5U}) {
    Texts texts = {first, second};
    for (std::size_t i = 0; i < more; ++i) texts.push_back(first);
    Texts copy = texts;
    copy[0] = second;
    EXPECT_EQ(texts[0], first);
    EXPECT_EQ(copy.size(), 2 + more);
    texts = copy;
    EXPECT_EQ(texts[0], second);
  }
}

TEST(SmallList, a_move_leaves_nothing_behind) {
  for (const std::size_t more : {0U, 5U}) {
    Texts texts = {first, second};
    for (std::size_t i = 0; i < more; ++i) texts.push_back(first);
    Texts moved = std::move(texts);
    EXPECT_TRUE(texts.empty());  // NOLINT: moved from on purpose
    EXPECT_EQ(moved.size(), 2 + more);
    EXPECT_EQ(moved[1], second);
    texts.push_back(second);  // And is a list still.
    EXPECT_EQ(texts.front(), second);
    moved = std::move(texts);
    EXPECT_EQ(moved.size(), 1U);
  }
}

TEST(SmallList, takes_a_vector_over) {
  std::vector<std::string> from = {first, second, first};
  const Texts texts = std::move(from);
  EXPECT_EQ(texts.size(), 3U);
  EXPECT_EQ(texts[1], second);
}

TEST(SmallList, every_element_is_destroyed_once) {
  const auto shared = std::make_shared<int>(1);
  {
    SmallList<std::shared_ptr<int>, 2> list = {shared};
    for (int i = 0; i < 20; ++i) list.push_back(shared);
    EXPECT_EQ(shared.use_count(), 22);
    list.clear();
    EXPECT_EQ(shared.use_count(), 1);
    list.push_back(shared);
  }
  EXPECT_EQ(shared.use_count(), 1);
}

}  // namespace
}  // namespace headroom
