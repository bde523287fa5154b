// SPDX-License-Identifier: Apache-2.0
// docs/causes.md is what the rules' texts say.
#include "report/causes_page.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/golden.h"

namespace headroom {
namespace {

TEST(CausesPage, says_what_the_rules_say) {
  const auto page = std::filesystem::path(HEADROOM_SOURCE_DIR) / "docs/causes.md";
  EXPECT_TRUE(testing::matches_golden(page.string(), report::causes_page()));
}

}  // namespace
}  // namespace headroom
