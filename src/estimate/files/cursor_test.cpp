// SPDX-License-Identifier: Apache-2.0
#include "estimate/files/cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::estimate {
namespace {

using ::testing::HasSubstr;

TEST(Cursor, a_part_ends_where_it_says_and_what_is_left_of_it_is_passed_over) {
  const MemoryBytes bytes("\x01\x02\x03\x04\x05");
  Cursor cursor(bytes, 5, 100);
  const std::uint64_t outer = cursor.enter(3);
  EXPECT_EQ(cursor.read_number(2), 0x0201U);
  EXPECT_EQ(cursor.left(), 1U);
  cursor.leave(outer);
  EXPECT_EQ(cursor.read_number(2, /*big_endian=*/true), 0x0405U);
  EXPECT_TRUE(cursor.ok() && cursor.at_end());
}

TEST(Cursor, nothing_is_read_behind_the_end_of_a_part) {
  const MemoryBytes bytes("\x01\x02\x03\x04\x05");
  for (const bool wide : {false, true}) {
    Cursor cursor(bytes, 5, 100);
    cursor.enter(3);
    if (wide) {
      EXPECT_EQ(cursor.read_number(4), 0U);
    } else {
      cursor.enter(4);
    }
    ASSERT_FALSE(cursor.ok());
    EXPECT_THAT(cursor.problem().message, HasSubstr("the end of the part it belongs to"));
  }
}

TEST(Cursor, the_first_problem_stays_and_all_after_it_is_empty) {
  const MemoryBytes bytes("abc");
  Cursor cursor(bytes, 3, 100);
  cursor.skip(UINT64_MAX);
  cursor.fail("another one", "");
  EXPECT_EQ(cursor.read_text(1, 10, "a text"), "");
  EXPECT_TRUE(cursor.at_end());
  EXPECT_THAT(cursor.problem().message, HasSubstr("after byte 0"));
}

TEST(Cursor, texts_are_bounded_one_by_one_and_together) {
  const std::string bytes(100, 'x');
  const MemoryBytes source(bytes);
  Cursor one(source, 100, 50);
  one.read_text(20, 10, "a name");
  EXPECT_THAT(one.problem().message, HasSubstr("a name of at most 10 bytes, found 20"));
  Cursor all(source, 100, 50);
  EXPECT_EQ(all.read_text(30, 40, "a name").size(), 30U);
  EXPECT_EQ(all.read_text(30, 40, "a name"), "");
  EXPECT_FALSE(all.ok());
}

TEST(Cursor, far_places_are_reached_without_reading_what_is_between) {
  class Huge : public RandomAccess {
   public:
    std::uint64_t size() const override { return std::uint64_t{1} << 50U; }
    Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) const override {
      ++reads;
      std::fill(buffer.begin(), buffer.end(), offset > 1U << 20U ? '\x07' : '\x01');
      return buffer.size();
    }
    mutable int reads = 0;
  };
  const Huge huge;
  Cursor cursor(huge, UINT64_MAX, 100);
  EXPECT_EQ(cursor.read_number(1), 1U);
  cursor.skip(std::uint64_t{1} << 49U);
  EXPECT_EQ(cursor.read_number(1), 7U);
  EXPECT_EQ(huge.reads, 2);
}

}  // namespace
}  // namespace headroom::estimate
