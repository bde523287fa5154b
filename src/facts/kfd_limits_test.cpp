// SPDX-License-Identifier: Apache-2.0
#include "facts/kfd_limits.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

using namespace literals;

KfdLimits parse(const std::string& text) {
  return parse_kfd_limits(Text(text, Source{"/sys/kernel/debug/kfd/mem_limit", 0, ""}));
}

TEST(KfdLimits, both_lines_count_in_mib) {
  const auto limits = parse("System mem used 12M out of 9129M\nTTM mem used 0M out of 3651M\n");
  EXPECT_EQ(*limits.system_limit, 9129_MiB);
  EXPECT_EQ(*limits.system_used, 12_MiB);
  EXPECT_EQ(*limits.ttm_limit, 3651_MiB);
  EXPECT_EQ(*limits.ttm_used, 0_B);
}

TEST(KfdLimits, limits_that_are_not_set_yet_are_missing_not_zero) {
  const auto limits = parse("System mem used 0M out of 0M\nTTM mem used 0M out of 0M\n");
  for (const Fact<Bytes>* fact :
       {&limits.system_limit, &limits.system_used, &limits.ttm_limit, &limits.ttm_used}) {
    ASSERT_FALSE(fact->known());
    EXPECT_EQ(fact->missing().why, Why::not_present);
    EXPECT_NE(fact->missing().text, "");
    EXPECT_GT(fact->source().line, 0);
  }
}

TEST(KfdLimits, a_line_that_is_cut_is_not_understood) {
  const auto limits = parse("System mem used 0M out of");
  EXPECT_EQ(limits.system_limit.missing().why, Why::not_understood);
  EXPECT_EQ(limits.ttm_limit.missing().why, Why::not_present);
}

}  // namespace
}  // namespace headroom::facts
