// SPDX-License-Identifier: Apache-2.0
#include "report/change_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/confirm_unit.h"

namespace headroom::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

plan::Step command(std::vector<std::string> argv, bool needs_root) {
  plan::Step step;
  step.what = "Do it";
  step.action = plan::Command{std::move(argv), {}, {}, {}, plan::UndoRun::never};
  step.needs_root = needs_root;
  return step;
}

plan::Change change(bool needs_root) {
  plan::Change made;
  made.fix = "ttm-cap";
  made.title = "A title";
  made.words = {"headroom", "fix", "ttm-cap"};
  made.steps = {command({"update-grub"}, needs_root)};
  return made;
}

TEST(ChangeScript, no_blank_of_its_text_is_left) {
  const std::string script = to_script(change(true));
  EXPECT_THAT(script, StartsWith("#!/bin/sh\n# A title\n"));
  EXPECT_THAT(script, HasSubstr("\nsafe_way='sudo headroom fix ttm-cap --apply'\n"));
  EXPECT_THAT(script, HasSubstr("\nrun update-grub\n"));
  EXPECT_THAT(script, Not(HasSubstr("# @")));
  EXPECT_THAT(script, Not(HasSubstr("@fix@")));
  EXPECT_THAT(script, Not(HasSubstr("shellcheck")));
}

TEST(ChangeScript, only_a_change_that_needs_root_asks_for_it) {
  EXPECT_THAT(to_script(change(true)), HasSubstr("run it as root: sudo sh $0"));
  EXPECT_THAT(to_script(change(false)), Not(HasSubstr("run it as root")));
}

TEST(ChangeScript, the_end_tells_what_is_left_to_do_by_hand) {
  plan::Change made = change(true);
  EXPECT_THAT(to_script(made), Not(HasSubstr("by hand")));
  plan::Step told;
  told.what = "Type it";
  told.action = plan::Instruction{"pip install torch"};
  made.steps.push_back(told);
  EXPECT_THAT(to_script(made), HasSubstr("Some steps above are only printed."));
  made.steps = {told};
  EXPECT_THAT(to_script(made), HasSubstr("Nothing was changed."));
  EXPECT_THAT(to_script(made), Not(HasSubstr("Copies of the old files")));
  EXPECT_THAT(to_script(made), Not(HasSubstr("\nkeep_copies\n")));  // No folder for nothing.
}

TEST(ChangeScript, the_journal_that_it_does_not_write_is_not_asked) {
  plan::Change made = change(true);
  made.needs_reboot = true;
  plan::Step confirm;
  confirm.what = "Reboot, then check the result";
  confirm.action = plan::Instruction{std::string(plan::confirm_by_hand)};
  made.steps.push_back(confirm);
  EXPECT_THAT(to_script(made), Not(HasSubstr("headroom confirm")));
  EXPECT_THAT(to_script(made), HasSubstr("headroom check"));
}

TEST(ChangeScript, a_second_part_is_chosen_by_a_word) {
  plan::Change made = change(true);
  EXPECT_THAT(to_script(made), ::testing::EndsWith("\numask 022\napply\n"));
  made.on_confirm = {command({"update-grub"}, true)};
  const std::string script = to_script(made);
  EXPECT_THAT(script, HasSubstr("}\n\nconfirm() {\n"));
  EXPECT_THAT(script, HasSubstr("\n  confirm) confirm ;;\n"));
}

}  // namespace
}  // namespace headroom::report
