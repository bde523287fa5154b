// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/grub_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/boot/setup_for_test.h"
#include "plan/boot/shell_assignments.h"

namespace headroom::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const ArgumentChange limit{{"ttm.pages_limit=9"}, {"amdgpu.gttsize"}};

// What becomes of /etc/default/grub.
std::string edited(const std::string& text, const ArgumentChange& change = limit) {
  TestSetup setup = ubuntu();
  setup.add("/etc/default/grub", text);
  const auto steps = plan_grub_defaults(setup.subject(), change);
  if (!steps) return steps.error().message;
  const auto files = files_after(setup, *steps);
  const auto found = files.find("/etc/default/grub");
  return found == files.end() ? text : found->second;
}

TEST(grub_defaults, puts_words_into_the_default_entries) {
  EXPECT_EQ(edited("# a comment\nGRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash\"\n"
                   "GRUB_CMDLINE_LINUX=\"\"\n# end"),
            "# a comment\nGRUB_DEFAULT=0\n"
            "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash ttm.pages_limit=9\"\n"
            "GRUB_CMDLINE_LINUX=\"\"\n# end");
}

TEST(grub_defaults, keeps_every_way_of_quoting) {
  EXPECT_EQ(edited("GRUB_CMDLINE_LINUX_DEFAULT='quiet'  # why\n"),
            "GRUB_CMDLINE_LINUX_DEFAULT='quiet ttm.pages_limit=9'  # why\n");
  EXPECT_EQ(edited("GRUB_CMDLINE_LINUX_DEFAULT=quiet\n"),
            "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet ttm.pages_limit=9\"\n");
  EXPECT_EQ(edited("GRUB_CMDLINE_LINUX_DEFAULT=\n"),
            "GRUB_CMDLINE_LINUX_DEFAULT=\"ttm.pages_limit=9\"\n");
  EXPECT_EQ(edited("GRUB_CMDLINE_LINUX_DEFAULT=\"\"\n"),
            "GRUB_CMDLINE_LINUX_DEFAULT=\"ttm.pages_limit=9\"\n");
  EXPECT_EQ(edited("export GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n"),
            "export GRUB_CMDLINE_LINUX_DEFAULT=\"quiet ttm.pages_limit=9\"\n");
}

TEST(grub_defaults, kernel_quotes_inside_shell_quotes_stay) {
  EXPECT_EQ(edited(R"(GRUB_CMDLINE_LINUX_DEFAULT="quiet dyndbg=\"file a +p\" amdgpu.gttsize=5")"
                   "\n"),
            R"(GRUB_CMDLINE_LINUX_DEFAULT="quiet dyndbg=\"file a +p\" ttm.pages_limit=9")"
            "\n");
  EXPECT_EQ(edited("GRUB_CMDLINE_LINUX_DEFAULT='quiet dyndbg=\"file a +p\"'\n"),
            "GRUB_CMDLINE_LINUX_DEFAULT='quiet dyndbg=\"file a +p\" ttm.pages_limit=9'\n");
}

TEST(grub_defaults, what_the_shell_expands_stays) {
  EXPECT_EQ(edited("GRUB_CMDLINE_LINUX_DEFAULT=\"$(cat /etc/words 2> /dev/null) quiet\"\n"),
            "GRUB_CMDLINE_LINUX_DEFAULT=\"$(cat /etc/words 2> /dev/null) quiet "
            "ttm.pages_limit=9\"\n");
  EXPECT_EQ(edited("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet \"'amdgpu.gttsize=5'\" $EXTRA\"\n"),
            "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet $EXTRA ttm.pages_limit=9\"\n");
}

TEST(grub_defaults, the_last_assignment_counts) {
  EXPECT_EQ(edited("GRUB_CMDLINE_LINUX_DEFAULT=\"old amdgpu.gttsize=1\"\n"
                   "GRUB_CMDLINE_LINUX_DEFAULT=\"new\"\n"),
            "GRUB_CMDLINE_LINUX_DEFAULT=\"old amdgpu.gttsize=1\"\n"
            "GRUB_CMDLINE_LINUX_DEFAULT=\"new ttm.pages_limit=9\"\n");
}

TEST(grub_defaults, what_is_appended_to_counts_as_well) {
  EXPECT_EQ(edited("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet amdgpu.gttsize=1\"\n"
                   "GRUB_CMDLINE_LINUX_DEFAULT+=\" splash\"\n"),
            "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n"
            "GRUB_CMDLINE_LINUX_DEFAULT+=\" splash ttm.pages_limit=9\"\n");
  EXPECT_EQ(edited("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet ttm.pages_limit=1\"\n"
                   "GRUB_CMDLINE_LINUX_DEFAULT=\"${GRUB_CMDLINE_LINUX_DEFAULT} splash\"\n"),
            "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet ttm.pages_limit=9\"\n"
            "GRUB_CMDLINE_LINUX_DEFAULT=\"${GRUB_CMDLINE_LINUX_DEFAULT} splash\"\n");
}

TEST(grub_defaults, a_word_in_the_other_variable_is_edited_there) {
  EXPECT_EQ(edited("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n"
                   "GRUB_CMDLINE_LINUX=\"ttm.pages-limit=1 amdgpu.gttsize=7 ro\"\n"),
            "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n"
            "GRUB_CMDLINE_LINUX=\"ttm.pages_limit=9 ro\"\n");
}

TEST(grub_defaults, a_word_in_both_stays_in_the_one_that_wins) {
  EXPECT_EQ(edited("GRUB_CMDLINE_LINUX_DEFAULT=\"ttm.pages_limit=1\"\n"
                   "GRUB_CMDLINE_LINUX=\"ttm.pages_limit=2 ro\"\n"),
            "GRUB_CMDLINE_LINUX_DEFAULT=\"ttm.pages_limit=9\"\n"
            "GRUB_CMDLINE_LINUX=\"ro\"\n");
}

TEST(grub_defaults, comments_and_other_commands_are_no_assignments) {
  const std::string text =
      "#GRUB_CMDLINE_LINUX_DEFAULT=\"commented\"\n"
      "GRUB_CMDLINE_LINUX_DEFAULT=\"one\" some_command\n"
      "echo GRUB_CMDLINE_LINUX_DEFAULT=\"two\"\n";
  EXPECT_EQ(edited(text), text + "GRUB_CMDLINE_LINUX_DEFAULT=\"ttm.pages_limit=9\"\n");
}

TEST(grub_defaults, a_conditional_assignment_cannot_take_the_word_away) {
  EXPECT_EQ(edited("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n"
                   "if [ -e /x ]; then\n  GRUB_CMDLINE_LINUX_DEFAULT=\"verbose\"\nfi\n"),
            "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n"
            "if [ -e /x ]; then\n  GRUB_CMDLINE_LINUX_DEFAULT=\"verbose\"\nfi\n"
            "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT ttm.pages_limit=9\"\n");
}

TEST(grub_defaults, a_value_over_two_lines_is_one_value) {
  EXPECT_EQ(edited("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet \\\n  amdgpu.gttsize=5 splash\"\nX=1\n"),
            "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash ttm.pages_limit=9\"\nX=1\n");
}

TEST(grub_defaults, a_file_that_overrides_is_edited_instead) {
  TestSetup setup = ubuntu();
  setup.add("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n");
  setup.add("/etc/default/grub.d/50-cloudimg-settings.cfg",
            "# Cloud Image\nGRUB_CMDLINE_LINUX_DEFAULT=\"console=tty1 console=ttyS0\"\n");
  setup.add("/etc/default/grub.d/60-more.cfg",
            "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT nosplash\"\n");
  const auto steps = plan_grub_defaults(setup.subject(), limit);
  ASSERT_TRUE(steps);
  const auto files = files_after(setup, *steps);
  EXPECT_EQ(files.size(), 1U);
  EXPECT_EQ(files.at("/etc/default/grub.d/60-more.cfg"),
            "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT nosplash "
            "ttm.pages_limit=9\"\n");
}

TEST(grub_defaults, other_distributions_do_not_read_that_folder) {
  TestSetup setup = ubuntu();
  setup.use(facts::CommandLineTool::grub_mkconfig);
  setup.machine.distribution_id = {"arch", {}};
  setup.add("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n");
  setup.add("/etc/default/grub.d/50-x.cfg", "GRUB_CMDLINE_LINUX_DEFAULT=\"x\"\n");
  const auto steps = plan_grub_defaults(setup.subject(), limit);
  ASSERT_TRUE(steps);
  EXPECT_EQ(files_after(setup, *steps).begin()->first, "/etc/default/grub");
  EXPECT_THAT(command_lines(*steps), ElementsAre("grub-mkconfig -o /boot/grub/grub.cfg"));
}

TEST(grub_defaults, the_menu_is_made_anew_and_must_have_the_words) {
  TestSetup setup = ubuntu();
  setup.add("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet amdgpu.gttsize=4\"\n");
  setup.add("/boot/grub/grub.cfg",
            "### BEGIN /etc/grub.d/10_linux ###\nlinux /vmlinuz ro quiet amdgpu.gttsize=4\n"
            "### END /etc/grub.d/10_linux ###\n");
  const auto steps = plan_grub_defaults(setup.subject(), limit);
  ASSERT_TRUE(steps);
  EXPECT_THAT(command_lines(*steps), ElementsAre("update-grub"));
  const auto& expects = steps->back().expects;
  ASSERT_EQ(expects.size(), 2U);
  EXPECT_EQ(expects[0].text, "ttm.pages_limit=9");
  EXPECT_EQ(expects[1].kind, Expectation::Kind::file_lacks);
  EXPECT_EQ(expects[1].text, "amdgpu.gttsize=");
  const auto& command = std::get<Command>(steps->back().action);
  EXPECT_THAT(command.generates, ElementsAre("/boot/grub/grub.cfg"));
  EXPECT_EQ(command.undo_run, UndoRun::if_changed);
}

TEST(grub_defaults, another_systems_entry_may_keep_a_dropped_word) {
  TestSetup setup = ubuntu();
  setup.add("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet amdgpu.gttsize=4\"\n");
  setup.add("/boot/grub/grub.cfg",
            "### BEGIN /etc/grub.d/30_os-prober ###\nlinux /vmlinuz amdgpu.gttsize=4\n"
            "### END /etc/grub.d/30_os-prober ###\n");
  const auto steps = plan_grub_defaults(setup.subject(), limit);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->back().expects.size(), 1U);
}

TEST(grub_defaults, nothing_to_do_is_no_step) {
  TestSetup setup = ubuntu();
  setup.add("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet ttm.pages_limit=9\"\n");
  setup.add("/boot/grub/grub.cfg", "linux /vmlinuz quiet ttm.pages_limit=9\n");
  const auto steps = plan_grub_defaults(setup.subject(), limit);
  ASSERT_TRUE(steps);
  EXPECT_TRUE(steps->empty());
}

TEST(grub_defaults, an_unreadable_file_is_an_error_with_the_next_command) {
  const TestSetup setup = ubuntu();
  const auto steps = plan_grub_defaults(setup.subject(), limit);
  ASSERT_FALSE(steps);
  EXPECT_EQ(steps.error().code, Errc::unsupported);
  EXPECT_THAT(steps.error().next, HasSubstr("ttm.pages_limit=9"));
}

TEST(shell_assignments, knows_what_lasts_and_what_is_conditional) {
  const auto found = find_assignments(
      "A=1\nB=2 C=3; D=`x; y` E=\"$(a \"b c\" ')')\"\nF=1 cmd\nfoo() {\n G=1\n}\n"
      "[ x ] && H=1\ncase $x in\n a) I=1 ;;\nesac\nJ=1 # K=1\nL=a\\ b\n");
  std::string names;
  for (const Assignment& at : found) names += at.name + (at.conditional ? "?" : "") + " ";
  EXPECT_EQ(names, "A B C D E G? H? I? J L ");
}

TEST(shell_assignments, a_here_document_assigns_nothing_and_redirecting_is_no_condition) {
  const auto found = find_assignments("cat <<E >/dev/null\nA=1\nE\nB=2\necho x >&2 C=3\nD=4\n");
  std::string names;
  for (const Assignment& at : found) names += at.name + (at.conditional ? "? " : " ");
  EXPECT_EQ(names, "B D ");
}

TEST(shell_assignments, broken_quotes_end_with_the_file) {
  for (const char* text : {"A=\"x", "A='x", "A=$(x", "A=${x", "A=`x", "A=\\", "A=\"$", "A=\"\\"}) {
    const auto found = find_assignments(text);
    ASSERT_EQ(found.size(), 1U) << text;
    EXPECT_LE(found[0].end, std::string_view(text).size());
    unquote_value(std::string_view(text).substr(found[0].begin));
    edit_value(std::string_view(text).substr(found[0].begin), limit);
  }
}

}  // namespace
}  // namespace headroom::plan
