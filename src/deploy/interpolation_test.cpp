// SPDX-License-Identifier: Apache-2.0
#include "deploy/interpolation.h"

#include <gtest/gtest.h>

namespace headroom::deploy {
namespace {

TEST(Interpolation, variables_are_filled_in_with_their_defaults) {
  const std::map<std::string, std::string> variables = {{"V", "release-rocm"}, {"EMPTY", ""}};
  EXPECT_EQ(fill_in_variables("ml:${V}", variables), "ml:release-rocm");
  EXPECT_EQ(fill_in_variables("ml:$V", variables), "ml:release-rocm");
  EXPECT_EQ(fill_in_variables("ml:${V:-v2}", variables), "ml:release-rocm");
  EXPECT_EQ(fill_in_variables("ml:${W:-v2}-rocm", variables), "ml:v2-rocm");
  EXPECT_EQ(fill_in_variables("ml:${EMPTY:-v2}", variables), "ml:v2");
  EXPECT_EQ(fill_in_variables("ml:${EMPTY-v2}", variables), "ml:");
  EXPECT_EQ(fill_in_variables("$$V ${W}", variables), "$V ${W}");
}

TEST(Interpolation, what_is_no_variable_stays_as_it_is) {
  for (const char* text : {"", "$", "a$", "${", "${}", "${V:?must be set}", "${V:-${W}}", "$1"}) {
    EXPECT_EQ(fill_in_variables(text, {}), text);
  }
}

}  // namespace
}  // namespace headroom::deploy
