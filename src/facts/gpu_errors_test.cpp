// SPDX-License-Identifier: Apache-2.0
#include "facts/gpu_errors.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

Text text(const std::string& what) {
  return {what, Source{"/sys/file", 1, ""}};
}

TEST(RasCount, both_kinds_are_read) {
  const RasCount count = parse_ras_count("umc", text("ue: 2\nce: 31\n"));
  EXPECT_EQ(count.block, "umc");
  EXPECT_EQ(count.uncorrectable.optional(), 2U);
  EXPECT_EQ(count.correctable.optional(), 31U);
}

TEST(RasCount, deferred_errors_of_newer_drivers_do_no_harm) {
  EXPECT_EQ(parse_ras_count("umc", text("ue: 0\nce: 1\nde: 5\n")).correctable.optional(), 1U);
}

TEST(RasCount, driver_that_does_not_answer_is_missing_not_zero) {
  const RasCount count = parse_ras_count("gfx", text("Query currently inaccessible\n"));
  ASSERT_FALSE(count.uncorrectable);
  EXPECT_EQ(count.uncorrectable.missing().why, Why::unreadable);
  EXPECT_FALSE(count.correctable);
}

TEST(AerTotal, total_is_found_behind_its_kinds) {
  const Text list = text("RxErr 1\nBadTLP 2\nTOTAL_ERR_COR 3\n");
  EXPECT_EQ(parse_aer_total(list, "TOTAL_ERR_COR").optional(), 3U);
  EXPECT_FALSE(parse_aer_total(list, "TOTAL_ERR_FATAL"));
}

}  // namespace
}  // namespace headroom::facts
