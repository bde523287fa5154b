// SPDX-License-Identifier: Apache-2.0
#include "facts/machine_history.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

TEST(MachineHistory, its_text_says_the_same) {
  MachineHistory history;
  history.now = "2026-05-10T12:00:00";
  history.sources = {{PackageManager::apt, "/var/log/apt/history.log", "", "2026-04-01T10:00:00"},
                     {PackageManager::pip, "/venv", "a copy does not say"}};
  history.changes = {
      {"2026-05-01T10:00:00", "rocm-core", "6.3.2", "6.4.0", PackageAction::upgrade,
       PackageManager::apt},
      {"2026-05-02T10:00:00", "torch", "", "2.9", PackageAction::install, PackageManager::pip}};
  const std::string text = to_text(history);
  const MachineHistory again = parse_machine_history(text);
  EXPECT_EQ(to_text(again), text);
  EXPECT_EQ(again.now, history.now);
  ASSERT_EQ(again.sources.size(), 2U);
  EXPECT_TRUE(again.sources[0].read());
  EXPECT_EQ(again.sources[0].since, "2026-04-01T10:00:00");
  EXPECT_EQ(again.sources[1].since, "");
  EXPECT_EQ(again.sources[1].why_not, "a copy does not say");
  ASSERT_EQ(again.changes.size(), 2U);
  EXPECT_EQ(again.changes[0].from, "6.3.2");
  EXPECT_EQ(again.changes[1].manager, PackageManager::pip);
}

TEST(MachineHistory, nothing_in_a_field_ends_it) {
  MachineHistory history;
  history.changes = {{"2026-05-01T10:00:00", "a\tb\nchange", "1", "\x1b[31m2",
                      PackageAction::upgrade, PackageManager::apt}};
  const MachineHistory again = parse_machine_history(to_text(history));
  ASSERT_EQ(again.changes.size(), 1U);
  EXPECT_EQ(again.changes[0].package, "abchange");
  EXPECT_EQ(again.changes[0].to, "[31m2");
}

TEST(MachineHistory, other_text_says_nothing) {
  for (const char* text : {"", "\n\n", "now", "change\tapt", "history\tyum\t/x\t",
                           "change\tapt\tyesterday\tupgrade\ta\t1\t2",
                           "change\tapt\t2026-05-01T10:00:00\tburn\ta\t1\t2"}) {
    const MachineHistory history = parse_machine_history(text);
    EXPECT_TRUE(history.changes.empty() && history.sources.empty() && history.now.empty()) << text;
  }
}

}  // namespace
}  // namespace headroom::facts
