// SPDX-License-Identifier: Apache-2.0
#include "stress/allocator_program.h"

#include <gtest/gtest.h>

namespace headroom::allocator::testing {
namespace {

class AllocatorProgram : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(AllocatorProgram, loses_no_byte_with_virtual_memory) {
  const ProgramResult result = run_program({.operations = 30000, .seed = GetParam()});
  EXPECT_EQ(result.broken, "");
  EXPECT_GT(result.repairs, 0U);
  EXPECT_GT(result.refused, 0U);
}

TEST_P(AllocatorProgram, loses_no_byte_without_virtual_memory) {
  const ProgramResult result =
      run_program({.operations = 30000, .seed = GetParam(), .virtual_memory = false});
  EXPECT_EQ(result.broken, "");
  EXPECT_GT(result.flushes, 0U);
  EXPECT_GT(result.refused, 0U);
}

TEST_P(AllocatorProgram, loses_no_byte_with_four_threads) {
  for (const bool virtual_memory : {true, false}) {
    const ProgramResult result = run_program({.operations = 24000,
                                              .threads = 4,
                                              .seed = GetParam(),
                                              .virtual_memory = virtual_memory,
                                              .capacity_bytes = std::uint64_t{160} << 20U});
    EXPECT_EQ(result.broken, "");
  }
}

// Programs that never follow a plan would prove nothing about plans.
TEST(AllocatorPrograms, follow_plans_and_break_them) {
  for (const bool virtual_memory : {true, false}) {
    ProgramResult result;
    for (std::uint32_t seed = 11; seed < 14; ++seed) {
      const ProgramResult one = run_program(
          {.operations = 30000, .seed = seed, .virtual_memory = virtual_memory, .faults = false});
      EXPECT_EQ(one.broken, "");
      result.planned += one.planned;
      result.plans_broken += one.plans_broken;
    }
    EXPECT_GT(result.planned, 50U);
    EXPECT_GT(result.plans_broken, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, AllocatorProgram, ::testing::Range(1U, 5U));

}  // namespace
}  // namespace headroom::allocator::testing
