// SPDX-License-Identifier: Apache-2.0
#include "facts/memory_room.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

Text text(std::string words) {
  return {std::move(words), Source{"/file", 0, ""}};
}

Text absent() {
  return {Missing{Why::not_present, ""}, Source{"/file", 0, ""}};
}

Meminfo memory(Bytes total, Bytes available) {
  Meminfo memory;
  memory.total = {total, {}};
  memory.available = {available, {}};
  return memory;
}

TEST(MemoryRoom, a_small_machine_keeps_256_mib_and_a_large_one_no_more_than_2_gib) {
  EXPECT_EQ(machine_reserve(1_GiB), 256_MiB);
  EXPECT_EQ(machine_reserve(16_GiB), 512_MiB);
  EXPECT_EQ(machine_reserve(1024_GiB), 2_GiB);
  EXPECT_EQ(group_reserve(512_MiB), 32_MiB);
  EXPECT_EQ(group_reserve(24_GiB), 768_MiB);
}

TEST(MemoryRoom, the_machine_gives_what_is_available_less_the_reserve) {
  const auto room = machine_room(memory(16_GiB, 10_GiB));
  ASSERT_TRUE(room.has_value());
  EXPECT_EQ(room->whose, "this machine");
  EXPECT_EQ(room->room(), 10_GiB - 512_MiB);
  EXPECT_EQ(room->most(), 16_GiB - 512_MiB);
  EXPECT_EQ(machine_room(memory(16_GiB, 100_MiB))->room(), 0_B);
}

TEST(MemoryRoom, what_the_kernel_does_not_say_is_no_room_of_zero) {
  EXPECT_FALSE(machine_room(Meminfo{}).has_value());
  EXPECT_FALSE(group_room("/a", absent(), text("0\n"), absent()).has_value());
  EXPECT_FALSE(group_room("/a", text("536870912\n"), absent(), absent()).has_value());
  EXPECT_FALSE(group_room("/a", text("much\n"), text("0\n"), absent()).has_value());
}

TEST(MemoryRoom, a_group_without_a_limit_bounds_nothing) {
  EXPECT_FALSE(group_room("/a", text("max\n"), text("0\n"), absent()).has_value());
  EXPECT_FALSE(group_room("/a", text("9223372036854771712\n"), text("0\n"), absent()).has_value());
}

// "file" has tmpfs and memory files in it; the lists of file pages do not.
TEST(MemoryRoom, the_page_cache_of_files_is_room_and_memory_files_are_not) {
  const auto room = group_room("/a", text("536870912\n"), text("429916160\n"),
                               text("anon 0\nfile 419430400\nshmem 209715200\n"
                                    "inactive_anon 209715200\ninactive_file 104857600\n"
                                    "active_file 104857600\n"));
  ASSERT_TRUE(room.has_value());
  EXPECT_EQ(room->whose, "the control group /a");
  EXPECT_EQ(room->left, 302_MiB);
  EXPECT_EQ(room->room(), 270_MiB);
}

TEST(MemoryRoom, version_1_counts_the_groups_below_under_names_of_their_own) {
  const auto room = group_room("", text("536870912\n"), text("419430400\n"),
                               text("cache 1\ninactive_file 4096\nactive_file 4096\n"
                                    "total_inactive_file 104857600\ntotal_active_file 52428800\n"));
  ASSERT_TRUE(room.has_value());
  EXPECT_EQ(room->whose, "the control group /");
  EXPECT_EQ(room->left, 262_MiB);
}

TEST(MemoryRoom, more_cache_than_usage_and_more_usage_than_limit_do_not_wrap_around) {
  EXPECT_EQ(
      group_room("/a", text("536870912\n"), text("4096\n"), text("inactive_file 8192\n"))->left,
      512_MiB);
  EXPECT_EQ(group_room("/a", text("4096\n"), text("536870912\n"), absent())->left, 0_B);
}

TEST(MemoryRoom, the_tightest_is_the_one_with_the_least_room) {
  EXPECT_EQ(tightest({}), nullptr);
  const std::vector<MemoryRoom> rooms = {{"a", 8_GiB, 4_GiB, 1_GiB}, {"b", 4_GiB, 2_GiB, 0_B}};
  EXPECT_EQ(tightest(rooms)->whose, "b");
}

}  // namespace
}  // namespace headroom::facts
