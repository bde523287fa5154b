// SPDX-License-Identifier: Apache-2.0
#include "run/command/flag_file.h"

#include <gtest/gtest.h>

namespace headroom::run {
namespace {

TEST(FlagFile, the_top_level_of_yaml_is_read) {
  const auto values = parse_flag_file("a.yaml",
                                      "# settings\nmicro_batch_size: 8  # fits\n"
                                      "name: \"a: b\"\nlora:\n  micro_batch_size: 1\n- x: 2\n");
  ASSERT_TRUE(values);
  EXPECT_EQ(values->at("micro_batch_size"), "8");
  EXPECT_EQ(values->at("name"), "a: b");
  EXPECT_FALSE(values->contains("x"));
}

TEST(FlagFile, json_and_toml_are_read_by_their_own_rules) {
  EXPECT_EQ(parse_flag_file("a.json", R"({"micro": 4, "list": [1]})")->at("micro"), "4");
  EXPECT_EQ(parse_flag_file("a.toml", "micro = 4\n[table]\nmicro = 5\n")->at("micro"), "4");
}

TEST(FlagFile, a_file_that_is_none_says_nothing) {
  EXPECT_FALSE(parse_flag_file("a.json", "{"));
  EXPECT_FALSE(parse_flag_file("a.json", "[1]"));
}

}  // namespace
}  // namespace headroom::run
