// SPDX-License-Identifier: Apache-2.0
#include "findings/step.h"

#include <gmock/gmock.h>

#include "findings/next_command.h"

namespace headroom::findings {
namespace {

using ::testing::_;
using ::testing::ElementsAre;

TEST(Step, a_remark_stands_behind_its_command) {
  const Step step = command("sudo dmesg", "(says why)");
  EXPECT_TRUE(step.is_command());
  EXPECT_EQ(step.text, "sudo dmesg");
  EXPECT_EQ(step.whole(), "sudo dmesg   (says why)");
}

TEST(Step, sentences_are_read_as_they_stand) {
  const auto steps = sentences({"sudo is not needed", "reboot"});
  EXPECT_FALSE(steps[0].is_command());
  EXPECT_THAT(texts_of(steps), ElementsAre("sudo is not needed", "reboot"));
}

TEST(NextCommand, says_what_it_does) {
  const NextCommand check = NextCommand::check("--verbose");
  EXPECT_EQ(check.text(), "headroom check --verbose");
  EXPECT_TRUE(check.only_looks() && !check.mends());
  const NextCommand fix = NextCommand::fix("ttm-cap");
  EXPECT_EQ(fix.text(), "headroom fix ttm-cap");
  EXPECT_TRUE(fix.mends() && fix.can_be_undone() && !fix.only_looks());
  const NextCommand reclaim = NextCommand::reclaim();
  EXPECT_TRUE(reclaim.mends() && !reclaim.can_be_undone());
}

TEST(NextCommand, planning_neither_looks_at_the_machine_nor_mends_it) {
  EXPECT_FALSE(NextCommand::plan().only_looks() || NextCommand::plan().mends());
  EXPECT_FALSE(NextCommand().only_looks() || NextCommand().mends());
  EXPECT_EQ(NextCommand().text(), "");
}

TEST(Step, a_sentence_and_its_command_are_one_step) {
  EXPECT_EQ(sentence_with("put iommu=pt on the command line", "sudo update-grub").whole(),
            "put iommu=pt on the command line: sudo update-grub");
  EXPECT_FALSE(sentence_with("a", "b").is_command());
}

TEST(Step, a_command_for_the_host_is_typed_there_and_keeps_its_remark) {
  const Step step = on_the_host(command("id", "(as root)"));
  EXPECT_FALSE(step.is_command());
  EXPECT_EQ(step.whole(), "On the host: id   (as root)");
  EXPECT_EQ(on_the_host(sentence("Stop it.")).whole(), "On the host: Stop it.");
}

TEST(Step, one_more_is_done_before_the_reboot_and_before_what_is_only_looked_at) {
  std::vector<Step> steps = {command("edit"), reboot(), look("uname -r")};
  insert_before_reboot(sentence("a"), steps);
  EXPECT_THAT(texts_of(steps), ElementsAre("edit", "a", "sudo reboot", _));
  steps = {command("edit"), on_the_host(reboot())};
  insert_before_reboot(sentence("a"), steps);
  EXPECT_EQ(steps[1].text, "a");
  steps = {command("edit")};
  insert_before_reboot(sentence("a"), steps);
  EXPECT_EQ(steps.back().text, "a");
}

TEST(Step, what_the_first_is_for_stands_above_its_command) {
  std::vector<Step> steps = {command("edit", "(as root)"), reboot()};
  explain_first("Raise it", steps);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].whole(), "Raise it: edit   (as root)");
  steps = {sentence("Edit it.")};
  explain_first("Raise it", steps);
  EXPECT_THAT(texts_of(steps), ElementsAre("Raise it. Edit it."));
}

TEST(Step, what_only_shows_something_says_so) {
  EXPECT_EQ(look("uname -r", "(6.16.9 or later)").whole(),
            "to see for yourself: uname -r   (6.16.9 or later)");
  EXPECT_FALSE(look("uname -r").is_command());
}

}  // namespace
}  // namespace headroom::findings
