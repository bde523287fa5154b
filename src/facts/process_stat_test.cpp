// SPDX-License-Identifier: Apache-2.0
#include "facts/process_stat.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

constexpr const char* rest =
    " 41 7 6 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 987654 1000000 300 18446744073709551615\n";

TEST(ProcessStat, gives_parent_session_state_and_start) {
  const auto stat = parse_process_stat(std::string("4242 (python3) S") + rest);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 4242U);
  EXPECT_EQ(stat->name, "python3");
  EXPECT_EQ(stat->parent, 41U);
  EXPECT_EQ(stat->group, 7U);
  EXPECT_EQ(stat->session, 6U);
  EXPECT_EQ(stat->start_ticks, 987654U);
  EXPECT_FALSE(stat->ended());
}

TEST(ProcessStat, a_name_cannot_pretend_to_be_other_fields) {
  const auto stat = parse_process_stat(std::string("4242 (a) Z 1 (1) S) D") + rest);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, "a) Z 1 (1) S");
  EXPECT_EQ(stat->state, 'D');
  EXPECT_EQ(stat->parent, 41U);
}

TEST(ProcessStat, a_zombie_has_ended) {
  EXPECT_TRUE(parse_process_stat(std::string("9 (sh) Z") + rest)->ended());
}

TEST(ProcessStat, half_a_line_is_nothing) {
  EXPECT_FALSE(parse_process_stat(""));
  EXPECT_FALSE(parse_process_stat("12 (sh) S 1 2 3"));
  EXPECT_FALSE(parse_process_stat("12 sh S 1 2 3"));
  EXPECT_FALSE(parse_process_stat(std::string("x (sh) S") + rest));
}

}  // namespace
}  // namespace headroom::facts
