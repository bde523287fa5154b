// SPDX-License-Identifier: Apache-2.0
#include "faces/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace headroom::faces {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Result<Settings> parse(const std::map<std::string, std::string>& variables) {
  return parse_settings([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(AllocatorSettings, nothing_set_or_set_to_nothing_is_all_of_what_is_loaded) {
  for (const auto& variables : {std::map<std::string, std::string>{},
                                {{"HEADROOM_ALLOCATOR_BACKEND", ""},
                                 {"HEADROOM_ALLOCATOR_CAPACITY", ""},
                                 {"HEADROOM_ALLOCATOR_SELF_TESTS", ""}}}) {
    const auto settings = parse(variables);
    ASSERT_TRUE(settings);
    EXPECT_FALSE(settings->backend);
    EXPECT_EQ(settings->capacity_bytes, 0U);
    EXPECT_EQ(settings->virtual_memory, unsigned{HEADROOM_VIRTUAL_MEMORY_AS_TESTED});
    EXPECT_EQ(settings->planning, unsigned{HEADROOM_PLANNING_BACKGROUND});
    EXPECT_FALSE(settings->self_tests);
  }
}

TEST(AllocatorSettings, words_and_amounts_are_read) {
  const auto settings = parse({{"HEADROOM_ALLOCATOR_BACKEND", "hip"},
                               {"HEADROOM_ALLOCATOR_CAPACITY", "12 GiB"},
                               {"HEADROOM_ALLOCATOR_VIRTUAL_MEMORY", "off"},
                               {"HEADROOM_ALLOCATOR_PLANNING", "inline"},
                               {"HEADROOM_ALLOCATOR_BUDGETS", "/run/user/1000/headroom"},
                               {"HEADROOM_ALLOCATOR_SHARE", "4G"},
                               {"HEADROOM_ALLOCATOR_HOST", "16GiB"}});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->backend, unsigned{HEADROOM_BACKEND_HIP});
  EXPECT_EQ(settings->capacity_bytes, std::uint64_t{12} << 30U);
  EXPECT_EQ(settings->virtual_memory, unsigned{HEADROOM_VIRTUAL_MEMORY_OFF});
  EXPECT_EQ(settings->planning, unsigned{HEADROOM_PLANNING_INLINE});
  EXPECT_EQ(settings->budgets, "/run/user/1000/headroom");
  EXPECT_EQ(settings->share_bytes, std::uint64_t{4} << 30U);
  EXPECT_EQ(settings->host_bytes, std::uint64_t{16} << 30U);
}

TEST(AllocatorSettings, another_word_is_refused_with_those_that_there_are) {
  const auto settings = parse({{"HEADROOM_ALLOCATOR_BACKEND", "rocm"}});
  ASSERT_FALSE(settings);
  EXPECT_THAT(
      settings.error().message,
      AllOf(HasSubstr("hip, cuda, host in HEADROOM_ALLOCATOR_BACKEND"), HasSubstr("\"rocm\"")));
}

TEST(AllocatorSettings, an_amount_of_nothing_and_no_amount_are_refused_by_name) {
  for (const char* amount : {"0", "much"}) {
    const auto settings = parse({{"HEADROOM_ALLOCATOR_CAPACITY", amount}});
    ASSERT_FALSE(settings);
    EXPECT_THAT(settings.error().message, HasSubstr("HEADROOM_ALLOCATOR_CAPACITY"));
  }
}

TEST(AllocatorSettings, totals_are_by_address_and_nonsense_is_refused) {
  const auto totals = parse_totals("0000:C4:00.0=96GiB,0000:03:00.0=1024");
  ASSERT_TRUE(totals);
  EXPECT_EQ(totals->at("0000:c4:00.0"), std::uint64_t{96} << 30U);
  EXPECT_EQ(totals->at("0000:03:00.0"), 1024U);
  for (const char* nothing : {"", "off"}) EXPECT_TRUE(parse_totals(nothing)->empty());
  for (const char* wrong : {"0000:c4:00.0", "=1GiB", "0000:c4:00.0=0", "0000:c4:00.0=1,", "96GiB"})
    EXPECT_FALSE(parse_totals(wrong)) << wrong;
  const auto settings = parse({{"HEADROOM_ALLOCATOR_TOTAL", "many"}});
  ASSERT_FALSE(settings);
  EXPECT_THAT(settings.error().message, HasSubstr("HEADROOM_ALLOCATOR_TOTAL"));
}

TEST(AllocatorSettings, the_hosts_memory_needs_a_capacity) {
  const auto settings = parse({{"HEADROOM_ALLOCATOR_BACKEND", "host"}});
  ASSERT_FALSE(settings);
  EXPECT_THAT(settings.error().next, HasSubstr("HEADROOM_ALLOCATOR_CAPACITY"));
}

}  // namespace
}  // namespace headroom::faces
