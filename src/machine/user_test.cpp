// SPDX-License-Identifier: Apache-2.0
#include "machine/user.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <regex>

#include "machine/clock.h"

namespace headroom::machine {
namespace {

TEST(User, who_asked_is_believed_of_root_only_and_only_if_known) {
  const std::string own = asking_user("", "");
  EXPECT_EQ(asking_user("no-such-user", "no number"), own);
  EXPECT_EQ(asking_user("", "99999999999"), own);
  EXPECT_EQ(asking_user("daemon", ""), runs_as_root() ? "daemon" : own);
  EXPECT_EQ(asking_user("", "1"), runs_as_root() ? "daemon" : own);
  EXPECT_EQ(asking_user("no-such-user", "1"), runs_as_root() ? "daemon" : own);
}

TEST(User, home_is_the_user_databases) {
  EXPECT_EQ(home_of("root"), "/root");
  EXPECT_EQ(home_of("no-such-user"), std::nullopt);
}

TEST(Clock, the_time_of_day_is_written_to_the_second_in_utc) {
  const std::regex form(R"(20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\dZ)");
  EXPECT_TRUE(std::regex_match(utc_now(), form)) << utc_now();
}

}  // namespace
}  // namespace headroom::machine
