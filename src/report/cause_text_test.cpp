// SPDX-License-Identifier: Apache-2.0
#include "report/cause_text.h"

#include <gmock/gmock.h>

namespace headroom::report {
namespace {

using findings::command;
using findings::sentence;

Style narrow() {
  Style style;
  style.width = 40;
  return style;
}

std::string shown(const findings::Step& step) {
  return fit(steps_text({step}, narrow()), narrow().width);
}

TEST(StepsText, a_command_is_whole_whatever_its_first_word_is) {
  const std::string line = "uv venv --python 3.12 .venv && . .venv/bin/activate";
  EXPECT_EQ(shown(command(line)), "   1. " + line + "\n");
}

TEST(StepsText, a_sentence_is_folded_though_it_begins_like_a_command) {
  const std::string text =
      shown(sentence("sudo is not what helps here, because the limit is fixed"));
  EXPECT_THAT(text, ::testing::HasSubstr("helps here,\n"));
}

TEST(StepsText, the_remark_behind_a_command_may_be_folded) {
  const std::string text = shown(command("sudo dmesg", "(says why the driver did not load)"));
  EXPECT_THAT(text, ::testing::StartsWith("   1. sudo dmesg   (says why the driver\n"));
}

TEST(StepsText, the_remark_behind_a_command_below_its_sentence_is_shown) {
  findings::Step step = findings::sentence_with("look", "lspci");
  step.remark = "(as root)";
  EXPECT_EQ(shown(step), "   1. look:\n      lspci   (as root)\n");
}

TEST(StepsText, a_command_stands_below_its_sentence_and_what_shows_something_stands_last) {
  const std::vector<findings::Step> steps = {
      findings::look("uname -r"), findings::sentence_with("make the menu anew", "update-grub"),
      command("sudo reboot")};
  EXPECT_EQ(fit(steps_text(steps, narrow()), narrow().width),
            "   1. make the menu anew:\n      update-grub\n   2. sudo reboot\n"
            "  To see for yourself\n      uname -r\n");
}

TEST(CauseText, what_is_shown_of_a_whole_is_no_more_than_that) {
  findings::Cause cause;
  cause.id = "app-bug";
  cause.confidence = 0.545;
  const std::vector<findings::Alternative> others = {{"framework-bug", 0.125, ""},
                                                     {"gpu-hang", 0.115, ""},
                                                     {"job-too-big", 0.115, ""},
                                                     {"crash-loop", 0.1, ""}};
  const std::string text = cause_text(cause, others, narrow());
  EXPECT_THAT(text, ::testing::HasSubstr("55 % sure"));
  EXPECT_THAT(text, ::testing::HasSubstr("crash-loop (8 %)"));
}

}  // namespace
}  // namespace headroom::report
