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

TEST(RankPlace, ranks_of_another_launcher_would_each_train_the_whole_job) {
  const auto place = place_in({{"WORLD_SIZE", "4"}, {"RANK", "1"}});
  ASSERT_FALSE(place);
  EXPECT_THAT(place.error().message, HasSubstr("WORLD_SIZE=4"));
  EXPECT_THAT(place.error().next, HasSubstr("headroom run --ranks 4"));
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
