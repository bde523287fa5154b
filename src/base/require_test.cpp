// SPDX-License-Identifier: Apache-2.0
#include "base/require.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace headroom {
namespace {

TEST(Require, what_holds_is_passed_over) {
  require(true, "one is one");
}

TEST(RequireDeathTest, a_broken_requirement_ends_the_program_and_says_where_and_what) {
  EXPECT_DEATH(require(false, "the list is not empty"),
               "require_test.cpp:[0-9]+: required: the list is not empty");
}

TEST(RequireDeathTest, nobody_catches_a_broken_requirement) {
  const auto catch_all = [] {
    try {
      require(false, "it holds");
    } catch (...) {
    }
  };
  EXPECT_DEATH(catch_all(), "required: it holds");
}

}  // namespace
}  // namespace headroom
