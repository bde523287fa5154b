// SPDX-License-Identifier: Apache-2.0
#include "trainer/ranks/rank_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace headroom::trainer {
namespace {

using ::testing::HasSubstr;
using Values = std::map<std::string, std::string>;

Result<RankPlace> place_in(const Values& values) {
  return read_rank_place([&](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(RankPlace, without_a_launcher_a_process_is_alone) {
  for (const Values& values :
       {Values{}, Values{{"WORLD_SIZE", "1"}, {"RANK", "0"}}, Values{{"HEADROOM_RANKS_JOB", ""}}}) {
    const auto place = place_in(values);
    ASSERT_TRUE(place);
    EXPECT_TRUE(place->is_alone());
    EXPECT_EQ(place->ranks, 1U);
  }
}

TEST(RankPlace, a_rank_of_headroom_knows_its_number) {
  const auto place = place_in({{"HEADROOM_RANKS_JOB", "12-34"},
                               {"HEADROOM_RANKS_LOST", "continue"},
                               {"WORLD_SIZE", "3"},
                               {"RANK", "2"}});
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_FALSE(place->is_alone());
  EXPECT_EQ(place->rank, 2U);
  EXPECT_EQ(place->ranks, 3U);
  EXPECT_TRUE(place->goes_on);
}

TEST(RankPlace, one_that_was_started_again_comes_back_where_that_was_asked_for) {
  Values values = {{"HEADROOM_RANKS_JOB", "12-34"},
                   {"HEADROOM_RANKS_LOST", "restart"},
                   {"WORLD_SIZE", "3"},
                   {"RANK", "2"}};
  EXPECT_TRUE(place_in(values)->admits);
  EXPECT_TRUE(place_in(values)->goes_on);
  EXPECT_FALSE(place_in(values)->comes_back);
  values["HEADROOM_RANKS_AGAIN"] = "1";
  EXPECT_TRUE(place_in(values)->comes_back);
  values["HEADROOM_RANKS_LOST"] = "continue";
  EXPECT_FALSE(place_in(values)->admits);
  EXPECT_FALSE(place_in(values)->comes_back);
}

TEST(RankPlace, launchers_of_several_machines_are_understood) {
  const Values here = {{"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "4000"}};
  for (Values values : std::initializer_list<Values>{
           {{"WORLD_SIZE", "4"}, {"RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}},
           {{"OMPI_COMM_WORLD_SIZE", "4"},
            {"OMPI_COMM_WORLD_RANK", "1"},
            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}},
           {{"SLURM_STEP_NUM_TASKS", "4"},
            {"SLURM_PROCID", "1"},
            {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}},
           {{"PMI_SIZE", "4"}, {"PMI_RANK", "1"}, {"MPI_LOCALNRANKS", "2"}}}) {
    values.insert(here.begin(), here.end());
    const auto place = place_in(values);
    ASSERT_TRUE(place) << place.error().message;
    EXPECT_FALSE(place->is_alone());
    EXPECT_EQ(place->rank, 1U);
    EXPECT_EQ(place->ranks, 4U);
    EXPECT_EQ(place->on_this_machine, 2U) << values.begin()->first;
    ASSERT_TRUE(place->rendezvous);
    EXPECT_EQ(place->rendezvous->host, "10.0.0.1");
    EXPECT_EQ(place->rendezvous->port, 4000);
  }
}

TEST(RankPlace, the_script_of_a_slurm_job_is_one_process) {
  const auto place = place_in({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}});
  ASSERT_TRUE(place);
  EXPECT_TRUE(place->is_alone());
}

TEST(RankPlace, a_launcher_that_does_not_say_where_rank_0_is_is_told_how) {
  const auto place = place_in({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "1"}});
  ASSERT_FALSE(place);
  EXPECT_THAT(place.error().message, HasSubstr("SLURM_STEP_NUM_TASKS=4, MASTER_ADDR"));
  EXPECT_THAT(place.error().next, HasSubstr("scontrol show hostnames"));
}

TEST(RankPlace, where_torchrun_listens_itself_the_next_port_is_taken) {
  Values values = {{"WORLD_SIZE", "2"},
                   {"RANK", "1"},
                   {"MASTER_ADDR", "h"},
                   {"MASTER_PORT", "4000"},
                   {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                   {"TORCHELASTIC_RESTART_COUNT", "3"}};
  const auto place = place_in(values);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rendezvous->port, 4001);
  EXPECT_EQ(place->rendezvous->tried, 3U);
  values["HEADROOM_MASTER_PORT"] = "5";
  EXPECT_EQ(place_in(values)->rendezvous->port, 5);
  values.erase("HEADROOM_MASTER_PORT");
  values["MASTER_PORT"] = "65535";
  EXPECT_FALSE(place_in(values));
}

TEST(RankPlace, numbers_that_make_no_place_are_refused) {
  const Values good = {{"HEADROOM_RANKS_JOB", "12-34"}, {"WORLD_SIZE", "2"}, {"RANK", "1"}};
  ASSERT_TRUE(place_in(good));
  for (const auto& [name, value] :
       std::initializer_list<std::pair<std::string, std::string>>{{"RANK", "2"},
                                                                  {"RANK", "-1"},
                                                                  {"RANK", ""},
                                                                  {"WORLD_SIZE", "17"},
                                                                  {"WORLD_SIZE", "x"}}) {
    Values bad = good;
    bad[name] = value;
    const auto place = place_in(bad);
    ASSERT_FALSE(place) << name << "=" << value;
    EXPECT_THAT(place.error().message, HasSubstr(name));
  }
}

}  // namespace
}  // namespace headroom::trainer
