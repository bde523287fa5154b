// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/plan_book.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace headroom::allocator {
namespace {

constexpr std::uint64_t granule = 512;
constexpr PlanBook::Piece any_piece = {~std::uint64_t{0}, 0};

// All live at once: a plan takes the sum.
Iteration iteration(std::initializer_list<std::uint64_t> granules) {
  Iteration made;
  for (const std::uint64_t each : granules)
    made.push_back({each * granule, 0, static_cast<std::uint32_t>(granules.size())});
  return made;
}

PlanPointer plan(std::initializer_list<std::uint64_t> granules) {
  return plan_for(iteration(granules), iteration(granules), nullptr);
}

// All of whose blocks were seen with one granule.
PlanPointer varying_plan(std::initializer_list<std::uint64_t> granules) {
  Iteration smallest = iteration(granules);
  for (IterationBlock& block : smallest) block.bytes = granule;
  return plan_for(iteration(granules), smallest, nullptr);
}

TEST(PlanBook, a_plan_is_for_what_has_its_shape_and_is_no_larger) {
  PlanBook book;
  EXPECT_TRUE(book.is_empty());
  EXPECT_EQ(book.bytes(), 0U);
  book.add(plan({8, 16, 8}));
  EXPECT_EQ(book.bytes(), 32 * granule);
  EXPECT_NE(book.find(iteration({8, 16, 8})), nullptr);
  EXPECT_NE(book.find(iteration({4, 8, 4})), nullptr);
  EXPECT_EQ(book.find(iteration({8, 17, 8})), nullptr) << "larger";
  EXPECT_EQ(book.find(iteration({8, 16})), nullptr) << "another shape";
  Iteration shorter_lived = iteration({8, 16, 8});
  shorter_lived[0].dies = 1;
  EXPECT_EQ(book.find(shorter_lived), nullptr);
  EXPECT_NE(book.alike(iteration({80, 160, 80})), nullptr);
  const PlanPointer found = book.find(iteration({1, 16, 8}));
  EXPECT_EQ(book.alike(iteration({1, 1, 1})), found);
  EXPECT_EQ(book.find(Iteration()), nullptr);
}

TEST(PlanBook, a_common_plan_is_made_where_it_takes_hardly_more) {
  const PlanPointer known = plan({1000, 2000});
  const auto bytes = [&](std::initializer_list<std::uint64_t> granules) {
    return plan_for(iteration(granules), iteration(granules), known)->bytes() / granule;
  };
  EXPECT_EQ(bytes({1010, 1990}), 3010U) << "common";
  EXPECT_EQ(bytes({2000, 1000}), 3000U) << "of its own";
  EXPECT_EQ(bytes({1001, 2001}), 3002U) << "it is larger";
}

// What came in one size comes in that size; where it varies, smaller ones are expected too.
TEST(PlanBook, learns_what_varies) {
  PlanBook book;
  book.add(plan({8, 16, 8}));
  EXPECT_EQ(book.choose({}, 7 * granule, 0, any_piece), nullptr);
  ASSERT_NE(book.find(iteration({6, 16, 8})), nullptr);
  EXPECT_NE(book.choose({}, 7 * granule, 0, any_piece), nullptr);
  EXPECT_EQ(book.choose(iteration({7}), 15 * granule, 0, any_piece), nullptr);
  book.add(
      plan_for(iteration({10, 20, 8}), iteration({10, 20, 8}), book.alike(iteration({1, 1, 1}))));
  EXPECT_NE(book.choose(iteration({7}), 15 * granule, 0, any_piece), nullptr);
  EXPECT_EQ(book.choose(iteration({7, 15}), 7 * granule, 0, any_piece), nullptr);
}

TEST(PlanBook, small_blocks_get_no_place_where_they_need_none) {
  const Iteration some = iteration({8, 16, 4});
  const PlanPointer large = plan_for(some, some, nullptr, 8 * granule);
  EXPECT_EQ(large->bytes(), 24 * granule);
  EXPECT_EQ(large->offset(2), Layout::nowhere);
  PlanBook book;
  book.add(large);
  EXPECT_NE(book.find(some), nullptr) << "its shape is the same";
}

TEST(PlanBook, a_plan_that_another_makes_superfluous_goes) {
  PlanBook book;
  book.add(plan({8, 16}));
  book.add(plan({16, 8}));
  EXPECT_NE(book.find(iteration({8, 16})), nullptr);
  book.add(plan({16, 16}));
  EXPECT_EQ(book.find(iteration({8, 16}))->bytes(), 32 * granule);
  book.drop_from(32 * granule);
  EXPECT_TRUE(book.is_empty()) << "the smaller ones were gone";
}

TEST(PlanBook, exactly_what_is_asked_for_comes_before_what_has_room_and_that_by_its_last_use) {
  PlanBook book;
  book.add(varying_plan({8, 16, 2}));
  book.add(varying_plan({16, 8, 2}));
  const auto chosen = [&](const Iteration& begun, std::uint64_t granules,
                          const PlanBook::Piece& piece = any_piece) {
    const PlanPointer found = book.choose(begun, granules * granule, 0, piece);
    return found ? found->block(0).bytes / granule : 0;
  };
  EXPECT_EQ(chosen({}, 8), 8U);
  EXPECT_EQ(chosen({}, 16), 16U);
  EXPECT_EQ(chosen({}, 7), 16U) << "used last";
  EXPECT_EQ(chosen({}, 8), 8U);
  EXPECT_EQ(chosen({}, 7), 8U);
  EXPECT_EQ(chosen(iteration({8}), 9), 8U);
  EXPECT_EQ(chosen(iteration({8}), 8), 8U) << "both have room for all, and none is exact";
  EXPECT_EQ(chosen(iteration({9}), 9), 0U);
  EXPECT_EQ(chosen({}, 17), 0U);
  EXPECT_EQ(chosen(iteration({8, 8, 2}), 2), 0U) << "longer than any";
  EXPECT_EQ(chosen({}, 8, {25 * granule, 0}), 0U) << "the piece is too small";
  EXPECT_EQ(chosen({}, 8, {~std::uint64_t{0}, 1}), 0U) << "another stream's";
}

TEST(PlanBook, keeps_the_sixteen_that_were_used_last) {
  PlanBook book;
  for (std::uint64_t i = 0; i < 16; ++i) book.add(plan({100 + i, 200 - i}));
  ASSERT_NE(book.find(iteration({100, 200})), nullptr);
  book.add(plan({300, 100}));
  EXPECT_NE(book.find(iteration({100, 200})), nullptr);
  EXPECT_EQ(book.find(iteration({101, 199})), nullptr) << "nobody had used it since";
}

TEST(PlanBookDeathTest, an_empty_book_has_no_stream) {
  EXPECT_DEATH(static_cast<void>(PlanBook().stream()), "required: a book .* has a plan");
}

TEST(PlanDeathTest, a_block_is_no_larger_than_its_slot) {
  const PlanPointer known = plan({4, 2});
  EXPECT_DEATH(Plan(*known, {4 * granule, 3 * granule}), "required: a block is no larger");
  EXPECT_DEATH(Plan(*known, {4 * granule}), "required: a plan learns a size for each");
}

}  // namespace
}  // namespace headroom::allocator
