// SPDX-License-Identifier: Apache-2.0
#include "allocator/page_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace headroom::allocator {
namespace {

TEST(PageTable, numbers_are_as_small_as_possible_and_nobody_elses) {
  PageTable table;
  const auto add = [&](std::uint32_t count) {
    const PageHandle handle = table.next_pages(count);
    table.add_pages(count);
    return handle;
  };
  EXPECT_EQ(add(4), 0U);
  EXPECT_EQ(add(1), 4U);
  EXPECT_EQ(add(2), 5U);
  ASSERT_TRUE(table.remove_pages(0).has_value());
  EXPECT_EQ(add(1), 0U);
  EXPECT_EQ(add(4), 7U) << "only three of the four are left";
  EXPECT_EQ(add(3), 1U);
  ASSERT_TRUE(table.remove_pages(4) && table.remove_pages(1) && table.remove_pages(5));
  EXPECT_EQ(add(6), 1U) << "what is next to each other is one again";
  EXPECT_EQ(table.pages(), 11U);
}

TEST(PageTable, a_mapping_ends_where_its_handle_does) {
  PageTable table;
  const std::uint64_t base = 1024 * page_bytes;
  table.add_range(base, 8 * page_bytes);
  table.add_pages(3);
  table.add_pages(2);
  ASSERT_TRUE(table.map(base + page_bytes, 0) && table.map(base + 4 * page_bytes, 3));
  EXPECT_EQ(table.mapping_end(base + page_bytes), base + 4 * page_bytes);
  EXPECT_EQ(table.mapping_end(base + 3 * page_bytes), base + 4 * page_bytes);
  EXPECT_EQ(table.mapping_end(base + 4 * page_bytes), base + 6 * page_bytes);
  EXPECT_EQ(table.mapped_from(base + 5 * page_bytes), base + page_bytes);
  EXPECT_FALSE(table.check_mapped(base, page_bytes).has_value());
  EXPECT_TRUE(table.check_mapped(base + page_bytes, 5 * page_bytes).has_value());
  EXPECT_FALSE(table.check_mapped(base + page_bytes, 6 * page_bytes).has_value());
  EXPECT_FALSE(table.check_mapped(base + page_bytes, 100 * page_bytes).has_value());
  EXPECT_EQ(table.unmap(base + page_bytes)->count, 3U);
  EXPECT_EQ(table.mapped_pages(), 2U);
}

// Against a model: which handle has which numbers.
TEST(PageTable, keeps_the_numbers_of_all_handles_apart) {
  std::mt19937 random(5);
  PageTable table;
  std::map<PageHandle, std::uint32_t> handles;
  for (int i = 0; i < 20000; ++i) {
    if (handles.size() < 40 && random() % 2 == 0) {
      const std::uint32_t count = 1U << (random() % 6);
      const PageHandle handle = table.next_pages(count);
      table.add_pages(count);
      const auto above = handles.lower_bound(handle);
      ASSERT_TRUE(above == handles.end() || handle + count <= above->first);
      if (above != handles.begin()) {
        const auto below = std::prev(above);
        ASSERT_LE(below->first + below->second, handle);
      }
      handles[handle] = count;
    } else if (!handles.empty()) {
      const auto one = std::next(handles.begin(), random() % handles.size());
      const auto removed = table.remove_pages(one->first);
      ASSERT_TRUE(removed.has_value());
      ASSERT_EQ(removed->count, one->second);
      handles.erase(one);
    }
  }
  EXPECT_LT(table.next_pages(1024), 4000U) << "numbers are used again";
}

TEST(PageTableDeathTest, what_is_not_mapped_has_no_end) {
  EXPECT_DEATH(static_cast<void>(PageTable().mapping_end(0)), "required: the address .* is mapped");
}

}  // namespace
}  // namespace headroom::allocator
