// SPDX-License-Identifier: Apache-2.0
#include "logs/describe.h"

#include <gtest/gtest.h>

namespace headroom::logs {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

std::string described(const std::string& says, const Values& values) {
  knowledge::Signature signature;
  signature.says = says;
  Observation observation;
  observation.signature = &signature;
  observation.text = "the line";
  observation.values = values;
  return describe(observation);
}

TEST(Describe, values_stand_in_the_place_of_their_names) {
  EXPECT_EQ(described("{user} is not in the group {group}", {{"user", "ada"}, {"group", "render"}}),
            "ada is not in the group render");
}

TEST(Describe, a_signature_without_words_gives_the_line) {
  EXPECT_EQ(described("", {}), "the line");
}

TEST(Describe, one_of_several_wordings_is_enough) {
  EXPECT_EQ(described("a process was ended (exit code {code}{number}{signal})", {{"code", "139"}}),
            "a process was ended (exit code 139)");
  EXPECT_EQ(described("{used_mib} MiB in use", {{"used_mib_2", "512"}}), "512 MiB in use");
}

TEST(Describe, brackets_around_a_missing_value_are_left_out) {
  EXPECT_EQ(described("the GPU raised an exception ({reason})", {}), "the GPU raised an exception");
  EXPECT_EQ(described("a collective operation ({operation}) timed out", {}),
            "a collective operation timed out");
}

TEST(Describe, a_missing_value_outside_of_brackets_is_said_to_be_unknown) {
  EXPECT_EQ(described("KFD refuses every process: {error}", {}),
            "KFD refuses every process: an unknown value");
}

}  // namespace
}  // namespace headroom::logs
