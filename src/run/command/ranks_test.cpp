// SPDX-License-Identifier: Apache-2.0
#include "run/command/ranks.h"

#include <gtest/gtest.h>

#include "run/command/variables.h"

namespace headroom::run {
namespace {

RankJob two_ranks(std::vector<std::string> environment) {
  RankJob job;
  job.argv = {"python", "train.py"};
  job.environment = std::move(environment);
  job.ranks = 2;
  return job;
}

TEST(Ranks, each_gets_its_place_and_its_share_of_the_processors) {
  const auto environment = rank_environment(two_ranks({"HOME=/root", "RANK=7"}), 1, 29501, 5);
  EXPECT_EQ(value_of(environment, "HOME"), "/root");
  EXPECT_EQ(value_of(environment, "RANK"), "1");
  EXPECT_EQ(value_of(environment, "LOCAL_RANK"), "1");
  EXPECT_EQ(value_of(environment, "WORLD_SIZE"), "2");
  EXPECT_EQ(value_of(environment, "LOCAL_WORLD_SIZE"), "2");
  EXPECT_EQ(value_of(environment, "MASTER_ADDR"), "127.0.0.1");
  EXPECT_EQ(value_of(environment, "MASTER_PORT"), "29501");
  EXPECT_EQ(value_of(environment, "OMP_NUM_THREADS"), "2");
  EXPECT_EQ(value_of(environment, "HEADROOM_RANKS_LOST"), "stop");
}

TEST(Ranks, threads_that_the_user_chose_stay_and_nobody_gets_none) {
  EXPECT_EQ(
      value_of(rank_environment(two_ranks({"OMP_NUM_THREADS=3"}), 0, 1, 8), "OMP_NUM_THREADS"),
      "3");
  EXPECT_EQ(value_of(rank_environment(two_ranks({}), 0, 1, 1), "OMP_NUM_THREADS"), "1");
}

TEST(Ranks, the_averager_comes_before_what_python_looks_in_and_only_once) {
  CommandEnvironment environment{{"PYTHONPATH=/mine"}, {}};
  const AveragerFiles files{"/lib/libheadroom_averager.so.1", "/share/site"};
  ASSERT_TRUE(inject_averager(files, environment).has_value());
  ASSERT_TRUE(inject_averager(files, environment).has_value());
  EXPECT_EQ(value_of(environment.variables, "PYTHONPATH"), "/share/site:/mine");
  EXPECT_EQ(value_of(environment.variables, "HEADROOM_AVERAGER_LIBRARY"), files.library);
}

TEST(Ranks, a_folder_that_pythonpath_cannot_hold_is_refused) {
  CommandEnvironment environment;
  const auto done = inject_averager({"/lib/a.so", "/sh:are"}, environment);
  ASSERT_FALSE(done.has_value());
  EXPECT_NE(done.error().message.find("--ranks"), std::string::npos);
}

}  // namespace
}  // namespace headroom::run
