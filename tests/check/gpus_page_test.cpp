// SPDX-License-Identifier: Apache-2.0
// docs/gpus.md is what the tables of data/ say.
#include "report/gpus_page.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/golden.h"

namespace headroom {
namespace {

TEST(GpusPage, says_what_the_tables_say) {
  const auto page = std::filesystem::path(HEADROOM_SOURCE_DIR) / "docs/gpus.md";
  EXPECT_TRUE(
      testing::matches_golden(page.string(), report::gpus_page(*knowledge::load_gpu_tables())));
}

}  // namespace
}  // namespace headroom
