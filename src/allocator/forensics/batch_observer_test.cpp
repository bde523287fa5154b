// SPDX-License-Identifier: Apache-2.0
#include "allocator/forensics/batch_observer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace headroom::allocator {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

TEST(BatchObserver, nothing_is_said_before_a_step_was_seen) {
  BatchObserver observer;
  EXPECT_FALSE(observer.line());
  observer.observe({.batch = 0, .variable_bytes = 5, .constant_bytes = 5});
  EXPECT_FALSE(observer.line());
}

TEST(BatchObserver, one_batch_is_proportional_and_says_so) {
  BatchObserver observer;
  observer.observe({.batch = 4, .variable_bytes = 400 * mib, .constant_bytes = 1000 * mib});
  const auto line = observer.line();
  ASSERT_TRUE(line);
  EXPECT_EQ(line->basis, BatchBasis::proportional);
  EXPECT_EQ(line->largest(1000 * mib + 700 * mib), 7U);
  EXPECT_EQ(line->largest(1000 * mib + 699 * mib), 6U);
  EXPECT_EQ(line->largest(900 * mib), 0U);
}

TEST(BatchObserver, two_batches_give_slope_and_what_does_not_grow) {
  BatchObserver observer;
  observer.observe({.batch = 2, .variable_bytes = 260 * mib, .constant_bytes = 500 * mib});
  observer.observe({.batch = 6, .variable_bytes = 660 * mib, .constant_bytes = 1000 * mib});
  const auto line = observer.line();
  ASSERT_TRUE(line);
  EXPECT_EQ(line->basis, BatchBasis::two_or_more_batches);
  EXPECT_NEAR(line->per_sample_bytes, 100 * mib, 1);
  EXPECT_NEAR(line->at_zero_bytes, 60 * mib, 1);
  EXPECT_EQ(line->constant_bytes, 1000 * mib);
  EXPECT_EQ(line->largest(1000 * mib + 60 * mib + 900 * mib), 9U);
  EXPECT_EQ(line->largest(1000 * mib + 60 * mib + 900 * mib - 2), 8U);
}

TEST(BatchObserver, the_largest_step_of_a_batch_counts) {
  BatchObserver observer;
  observer.observe({.batch = 4, .variable_bytes = 400 * mib});
  observer.observe({.batch = 4, .variable_bytes = 800 * mib});
  observer.observe({.batch = 4, .variable_bytes = 100 * mib});
  EXPECT_EQ(observer.line()->largest(1000 * mib), 5U);
}

TEST(BatchObserver, larger_batches_that_take_less_are_no_line) {
  BatchObserver observer;
  observer.observe({.batch = 2, .variable_bytes = 300 * mib});
  observer.observe({.batch = 4, .variable_bytes = 200 * mib});
  EXPECT_FALSE(observer.line());
}

RC_GTEST_PROP(BatchObserver, an_exact_line_is_found_whatever_the_batches, ()) {
  const auto slope = *rc::gen::inRange<std::uint64_t>(1, 4096 * mib);
  const auto offset = *rc::gen::inRange<std::uint64_t>(0, 4096 * mib);
  const auto constant = *rc::gen::inRange<std::uint64_t>(0, 65536 * mib);
  const auto batches =
      *rc::gen::unique<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(1, 512));
  RC_PRE(batches.size() >= 2U);
  BatchObserver observer;
  for (const std::uint64_t batch : batches)
    observer.observe({batch, offset + slope * batch, constant});
  const auto line = observer.line();
  RC_ASSERT(line.has_value());
  const auto wanted = *rc::gen::inRange<std::uint64_t>(1, 1000);
  const std::uint64_t capacity = constant + offset + slope * wanted + slope / 2;
  const std::uint64_t found = line->largest(capacity);
  RC_ASSERT(found == wanted || slope < 4096);  // Slopes of a few bytes drown in rounding.
}

}  // namespace
}  // namespace headroom::allocator
