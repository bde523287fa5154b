// SPDX-License-Identifier: Apache-2.0
#include "plan/confirm_unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::plan {
namespace {

using ::testing::HasSubstr;

facts::BootSetup with_systemd() {
  facts::BootSetup boot;
  boot.programs["systemctl"] = "/usr/bin/systemctl";
  return boot;
}

FixOptions options(const std::string& program = "/usr/bin/headroom") {
  FixOptions options;
  options.program = program;
  return options;
}

Change rebooting() {
  Change change;
  change.needs_reboot = true;
  change.forecast = Forecast{};
  return change;
}

TEST(ConfirmUnit, it_is_installed_started_and_removed_again) {
  Change change = rebooting();
  add_confirm_unit(change, with_systemd(), options());
  ASSERT_EQ(change.steps.size(), 4U);
  const auto& unit = std::get<FileEdit>(change.steps[0].action);
  EXPECT_EQ(unit.path, confirm_unit_path);
  EXPECT_THAT(*unit.after, HasSubstr("ExecStart=\"/usr/bin/headroom\" confirm --at-boot\n"));
  EXPECT_EQ(std::get<Command>(change.steps[2].action).undo_run, UndoRun::always);
  ASSERT_EQ(change.on_confirm.size(), 3U);
  const auto& gone = std::get<FileEdit>(change.on_confirm[1].action);
  EXPECT_EQ(gone.before, unit.after);
  EXPECT_EQ(gone.after, std::nullopt);
  const auto& link = std::get<LinkEdit>(change.steps[1].action);
  EXPECT_EQ(std::get<LinkEdit>(change.on_confirm[0].action).before, link.after);
}

// A failed unit whose file is gone would stay in the list of failed units.
TEST(ConfirmUnit, undo_lets_systemd_forget_how_it_ended) {
  Change change = rebooting();
  add_confirm_unit(change, with_systemd(), options());
  const auto& forget = std::get<Command>(change.steps.back().action);
  EXPECT_THAT(forget.undo,
              ::testing::ElementsAre("systemctl", "reset-failed", "headroom-confirm*"));
  EXPECT_EQ(forget.undo_run, UndoRun::always);
}

TEST(ConfirmUnit, rolling_back_is_asked_for_where_it_was) {
  FixOptions wanted = options();
  wanted.rollback_on_mismatch = true;
  EXPECT_THAT(confirm_unit(wanted), HasSubstr("confirm --at-boot --rollback-on-mismatch\n"));
}

TEST(ConfirmUnit, odd_paths_are_one_word_to_systemd) {
  const std::string text = confirm_unit(options("/opt/my \"tools\"/100%$x/headroom"));
  EXPECT_THAT(text, HasSubstr(R"(ExecStart="/opt/my \"tools\"/100%%$$x/headroom" confirm)"));
  EXPECT_THAT(text, HasSubstr(R"(RequiresMountsFor="/opt/my \"tools\"/100%%$x/headroom" )"));
}

TEST(ConfirmUnit, without_systemd_a_person_is_asked) {
  Change change = rebooting();
  add_confirm_unit(change, {}, options());
  ASSERT_EQ(change.steps.size(), 1U);
  EXPECT_THAT(std::get<Instruction>(change.steps[0].action).text, HasSubstr("headroom confirm"));
  EXPECT_TRUE(change.on_confirm.empty());
}

TEST(ConfirmUnit, beside_steps_by_hand_the_reboot_is_said_once_and_last) {
  Step told;
  told.kind = StepKind::by_hand;
  told.action = Instruction{"set it"};
  Change change = rebooting();
  change.steps.push_back(told);
  add_confirm_unit(change, with_systemd(), options());
  EXPECT_EQ(std::get<Instruction>(change.steps.back().action).text, "sudo systemctl reboot");
  Change unforecast;
  unforecast.needs_reboot = true;
  unforecast.steps.push_back(told);
  add_confirm_unit(unforecast, with_systemd(), options());
  ASSERT_EQ(unforecast.steps.size(), 2U);
  EXPECT_EQ(unforecast.steps.back().what, "Reboot");
}

TEST(ConfirmUnit, a_change_without_a_reboot_needs_none) {
  Change change;
  add_confirm_unit(change, with_systemd(), options());
  EXPECT_TRUE(change.steps.empty());
}

TEST(ConfirmUnit, a_unit_of_an_earlier_change_is_taken_over) {
  Change change = rebooting();
  facts::BootSetup boot = with_systemd();
  boot.files.push_back({std::string(confirm_unit_path), "old\n"});
  add_confirm_unit(change, boot, options());
  EXPECT_EQ(std::get<FileEdit>(change.steps[0].action).before, "old\n");
  EXPECT_TRUE(std::holds_alternative<LinkEdit>(change.steps[1].action)) << "nothing starts it yet";
  boot.links[std::string(confirm_unit_link)] = confirm_unit_path;
  Change started = rebooting();
  add_confirm_unit(started, boot, options());
  EXPECT_TRUE(std::holds_alternative<Command>(started.steps[1].action));
}

TEST(ConfirmUnit, a_program_that_systemd_may_not_reach_is_said) {
  for (const char* folder : {"/home", "/root", "/var/home"}) {
    Change change = rebooting();
    add_confirm_unit(change, with_systemd(), options(std::string(folder) + "/me/headroom"));
    EXPECT_EQ(change.notes.size(), 1U) << folder;
  }
  Change change = rebooting();
  add_confirm_unit(change, with_systemd(), options());
  EXPECT_TRUE(change.notes.empty());
}

}  // namespace
}  // namespace headroom::plan
