// SPDX-License-Identifier: Apache-2.0
#include "supervisor/past_command.h"

#include <gtest/gtest.h>

namespace headroom::supervisor {
namespace {

PastCommand attempt_of(std::uint64_t micro, bool out_of_memory) {
  PastCommand past;
  past.name = "python";
  past.command = {"python", "train.py"};
  past.memory = 1_GiB;
  past.settings.micro = micro;
  past.settings.accumulate = 16 / micro;
  past.out_of_memory = out_of_memory;
  past.exit.code = out_of_memory ? 1 : 0;
  return past;
}

const CommandKey key{"python", {"python", "train.py"}, 1_GiB, ""};

TEST(Learned, the_last_run_had_to_shrink) {
  const auto found =
      find_learned({attempt_of(2, false), attempt_of(4, true), attempt_of(8, true)}, key);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->settings.micro, 2U);
  EXPECT_EQ(found->settings.accumulate, 8U);
  EXPECT_EQ(found->out_of_memory_micro, 4U);
}

TEST(Learned, a_run_that_began_small_keeps_what_was_learned_before) {
  EXPECT_TRUE(find_learned({attempt_of(2, false), attempt_of(2, false), attempt_of(4, true)}, key));
}

TEST(Learned, a_command_that_never_failed_teaches_nothing) {
  EXPECT_FALSE(find_learned({attempt_of(8, false), attempt_of(8, false)}, key));
}

TEST(Learned, a_last_run_that_failed_teaches_nothing) {
  EXPECT_FALSE(find_learned({attempt_of(1, true), attempt_of(2, true)}, key));
}

TEST(Learned, what_was_seen_with_another_limit_does_not_count) {
  CommandKey other = key;
  other.memory = 2_GiB;
  EXPECT_FALSE(find_learned({attempt_of(2, false), attempt_of(4, true)}, other));
  other = key;
  other.devices = "1";
  EXPECT_FALSE(find_learned({attempt_of(2, false), attempt_of(4, true)}, other));
}

TEST(Learned, larger_settings_that_fit_later_replace_what_was_learned) {
  EXPECT_FALSE(
      find_learned({attempt_of(8, false), attempt_of(2, false), attempt_of(4, true)}, key));
}

}  // namespace
}  // namespace headroom::supervisor
