// SPDX-License-Identifier: Apache-2.0
// Where parameters go, and the tools of systems that are not edited file by file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/boot/image_based.h"
#include "plan/boot/kernelstub.h"
#include "plan/boot/proxmox.h"
#include "plan/boot/setup_for_test.h"

namespace headroom::plan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<ParameterChange> changes = {{"ttm", "pages_limit", "9"},
                                              {"amdgpu", "gttsize", std::nullopt}};
const ArgumentChange limit{{"ttm.pages_limit=9"}, {"amdgpu.gttsize"}};

// Ubuntu without a menu that a trial could copy: everything happens at once.
TestSetup plain_ubuntu(const std::string& words = "quiet") {
  TestSetup setup = ubuntu();
  setup.add("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"" + words + "\"\n");
  return setup;
}

// With one.
TestSetup trial_ubuntu(const std::string& words) {
  TestSetup setup = plain_ubuntu(words);
  setup.add("/boot/grub/grub.cfg",
            "set default=\"${next_entry}\"\nset default=\"0\"\nmenuentry 'Ubuntu' {\n\tlinux /v " +
                words + "\n}\nsource ${config_directory}/custom.cfg\n");
  return setup;
}

TEST(parameters, a_new_one_goes_to_the_command_line) {
  const TestSetup setup = plain_ubuntu();
  const auto steps = plan_parameters(setup.subject(), changes, Via::automatic);
  ASSERT_TRUE(steps);
  EXPECT_EQ(files_after(setup, steps->steps).at("/etc/default/grub"),
            "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet ttm.pages_limit=9\"\n");
  EXPECT_THAT(command_lines(steps->steps), ElementsAre("update-grub"));
}

TEST(parameters, one_that_a_file_sets_stays_there_with_its_company) {
  TestSetup setup = plain_ubuntu();
  setup.add("/etc/modprobe.d/ttm.conf", "options ttm pages_limit=1\n");
  const auto steps = plan_parameters(setup.subject(), {changes[0], {"ttm", "page_pool_size", "8"}},
                                     Via::automatic);
  ASSERT_TRUE(steps);
  const auto files = files_after(setup, steps->steps);
  EXPECT_EQ(files.at("/etc/modprobe.d/ttm.conf"), "options ttm pages_limit=9\n");
  EXPECT_FALSE(files.contains("/etc/default/grub"));
  EXPECT_THAT(files.at("/etc/modprobe.d/headroom.conf"), HasSubstr("page_pool_size=8"));
}

TEST(parameters, one_in_both_places_is_left_in_one) {
  TestSetup setup = plain_ubuntu("quiet ttm.pages_limit=2");
  setup.add("/etc/modprobe.d/ttm.conf", "options ttm pages_limit=1\n");
  const auto steps = plan_parameters(setup.subject(), changes, Via::automatic);
  ASSERT_TRUE(steps);
  const auto files = files_after(setup, steps->steps);
  EXPECT_THAT(files.at("/etc/default/grub"), HasSubstr("quiet ttm.pages_limit=9"));
  EXPECT_EQ(files.at("/etc/modprobe.d/ttm.conf"), "");
  EXPECT_THAT(command_lines(steps->steps),
              ElementsAre("update-grub", "update-initramfs -u -k all"));
}

TEST(parameters, what_the_trial_overrides_is_taken_out_of_files_by_confirm) {
  TestSetup setup = trial_ubuntu("ttm.pages_limit=2");
  setup.add("/etc/modprobe.d/ttm.conf", "options ttm pages_limit=1\n");
  const auto steps = plan_parameters(setup.subject(), {changes[0]}, Via::automatic);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->fallback, BootFallback::next_boot);
  EXPECT_THAT(command_lines(steps->steps), ElementsAre("grub-reboot headroom-trial"));
  EXPECT_THAT(command_lines(steps->on_confirm),
              ElementsAre("update-grub", "update-initramfs -u -k all"));
  auto files = files_after(setup, steps->steps);
  files = files_after(setup, steps->on_confirm, files);
  for (const auto& [path, text] : files) EXPECT_NE(text, "(broken)") << path;
}

TEST(parameters, edits_of_one_file_now_and_later_never_collide) {
  TestSetup setup = trial_ubuntu("ttm.pages_limit=2");
  setup.add("/etc/modprobe.d/gpu.conf", "options ttm pages_limit=1\noptions amdgpu gttsize=5\n");
  const auto steps = plan_parameters(setup.subject(), changes, Via::automatic);
  ASSERT_TRUE(steps);
  auto files = files_after(setup, steps->steps);
  files = files_after(setup, steps->on_confirm, files);
  for (const auto& [path, text] : files) EXPECT_NE(text, "(broken)") << path;
  EXPECT_EQ(files.at("/etc/modprobe.d/gpu.conf"), "");
  EXPECT_EQ(steps->fallback, BootFallback::by_hand);
}

TEST(parameters, nothing_is_tried_while_files_change_at_once) {
  const TestSetup setup = trial_ubuntu("quiet amdgpu.gttsize=5");
  const auto steps = plan_parameters(setup.subject(), changes, Via::module_options);
  ASSERT_TRUE(steps);
  EXPECT_THAT(command_lines(steps->steps),
              ElementsAre("update-grub", "update-initramfs -u -k all"));
  EXPECT_THAT(steps->on_confirm, IsEmpty());
  EXPECT_EQ(steps->fallback, BootFallback::by_hand);
  const auto files = files_after(setup, steps->steps);
  EXPECT_EQ(files.at("/etc/default/grub"), "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n");
  EXPECT_THAT(steps->notes, Contains(HasSubstr("modprobe.d changes as well")));
  EXPECT_THAT(steps->rescue, testing::Not(Contains(HasSubstr("by itself"))));
  EXPECT_THAT(steps->rescue, Contains(HasSubstr("modprobe.blacklist=amdgpu")));
  EXPECT_THAT(steps->rescue, Contains(HasSubstr("undo.sh")));
}

TEST(parameters, a_trial_stays_one_where_the_files_say_it_already) {
  TestSetup setup = trial_ubuntu("quiet ttm.pages_limit=5");
  setup.add("/etc/modprobe.d/ttm.conf", "options ttm pages_limit=9\n");
  const auto steps = plan_parameters(setup.subject(), {changes[0]}, Via::module_options);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->fallback, BootFallback::next_boot);
  EXPECT_THAT(command_lines(steps->steps), ElementsAre("grub-reboot headroom-trial"));
}

TEST(parameters, via_files_takes_them_off_the_command_line) {
  TestSetup setup = plain_ubuntu("quiet ttm.pages-limit=2");
  const auto steps = plan_parameters(setup.subject(), changes, Via::module_options);
  ASSERT_TRUE(steps);
  const auto files = files_after(setup, steps->steps);
  EXPECT_EQ(files.at("/etc/default/grub"), "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n");
  EXPECT_THAT(files.at("/etc/modprobe.d/headroom.conf"), HasSubstr("options ttm pages_limit=9\n"));
}

TEST(parameters, what_runs_now_counts_even_where_no_file_says_it) {
  TestSetup setup = plain_ubuntu();
  setup.on_command_line("quiet amdgpu.gttsize=5");
  const auto steps =
      plan_parameters(setup.subject(), {{"amdgpu", "gttsize", "7"}}, Via::module_options);
  ASSERT_TRUE(steps);
  EXPECT_THAT(command_lines(steps->steps), Contains("update-grub"));
}

TEST(parameters, nothing_to_drop_is_no_step) {
  const TestSetup setup = plain_ubuntu();
  const auto steps = plan_parameters(setup.subject(), {changes[1]}, Via::automatic);
  ASSERT_TRUE(steps);
  EXPECT_THAT(steps->steps, IsEmpty());
  EXPECT_EQ(steps->fallback, BootFallback::not_needed);
}

TEST(parameters, an_unknown_boot_loader_leaves_files) {
  TestSetup setup = ubuntu();
  setup.boot.command_line = {facts::Missing{}, {"/boot", 0, ""}};
  const auto steps = plan_parameters(setup.subject(), changes, Via::automatic);
  ASSERT_TRUE(steps);
  EXPECT_THAT(command_lines(steps->steps), ElementsAre("update-initramfs -u -k all"));
}

TEST(parameters, where_nothing_can_be_edited_the_words_are_told) {
  TestSetup setup = ubuntu();
  setup.boot.command_line = {facts::Missing{}, {"/boot", 0, ""}};
  setup.boot.image_based = true;
  setup.on_command_line("amdgpu.gttsize=5");
  const auto steps = plan_parameters(setup.subject(), changes, Via::automatic);
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->steps.size(), 1U);
  EXPECT_THAT(std::get<Instruction>(steps->steps[0].action).text,
              HasSubstr("set ttm.pages_limit=9, drop amdgpu.gttsize"));
  const auto direct = plan_kernel_arguments(setup.subject(), limit);
  ASSERT_FALSE(direct);
  EXPECT_THAT(direct.error().next, HasSubstr("ttm.pages_limit=9"));
}

TEST(parameters, a_change_collects_them) {
  const TestSetup setup = plain_ubuntu();
  Change change;
  change.fallback = BootFallback::next_boot;
  auto steps = plan_parameters(setup.subject(), changes, Via::automatic);
  ASSERT_TRUE(steps);
  add_to(change, *steps);
  add_to(change, *steps);
  EXPECT_TRUE(change.needs_reboot);
  EXPECT_EQ(change.fallback, BootFallback::by_hand);
  EXPECT_EQ(change.notes.size(), steps->notes.size());
  Change untouched;
  add_to(untouched, {});
  EXPECT_FALSE(untouched.needs_reboot);
}

TEST(rpm_ostree, takes_away_each_word_that_is_there_and_undo_puts_it_back) {
  TestSetup setup;
  setup.use(facts::CommandLineTool::rpm_ostree);
  setup.on_command_line("ttm.pages_limit=1 amdgpu.gttsize=5 amdgpu.gttsize=6");
  const auto steps = plan_by_rpm_ostree(setup.subject(), limit);
  ASSERT_TRUE(steps);
  EXPECT_THAT(command_lines(steps->steps),
              ElementsAre("rpm-ostree kargs --delete-if-present=amdgpu.gttsize=5 "
                          "--delete-if-present=amdgpu.gttsize=6 "
                          "--delete-if-present=ttm.pages_limit=1 "
                          "--append-if-missing=ttm.pages_limit=9"));
  const auto& command = std::get<Command>(steps->steps[0].action);
  EXPECT_THAT(
      command.undo,
      ElementsAre("rpm-ostree", "kargs", "--delete-if-present=ttm.pages_limit=9",
                  "--append-if-missing=amdgpu.gttsize=5", "--append-if-missing=amdgpu.gttsize=6",
                  "--append-if-missing=ttm.pages_limit=1"));
  EXPECT_EQ(command.undo_run, UndoRun::always);
}

TEST(rpm_ostree, nothing_to_do_is_no_step) {
  TestSetup setup;
  setup.use(facts::CommandLineTool::rpm_ostree);
  setup.on_command_line("ttm.pages_limit=9");
  EXPECT_THAT(plan_by_rpm_ostree(setup.subject(), limit)->steps, IsEmpty());
}

TEST(nixos, gets_the_text) {
  const BootSteps steps = plan_for_nixos(limit);
  ASSERT_EQ(steps.steps.size(), 1U);
  const std::string& text = std::get<Instruction>(steps.steps[0].action).text;
  EXPECT_THAT(text, HasSubstr("boot.kernelParams = [ \"ttm.pages_limit=9\" ];"));
  EXPECT_THAT(text, HasSubstr("amdgpu.gttsize"));
  EXPECT_THAT(text, HasSubstr("sudo nixos-rebuild boot"));
}

TEST(proxmox, edits_the_first_line_and_refreshes) {
  TestSetup setup;
  setup.use(facts::CommandLineTool::proxmox_boot_tool);
  EXPECT_FALSE(plan_by_proxmox_boot_tool(setup.subject(), limit));
  setup.add("/etc/kernel/cmdline", "root=ZFS=rpool/ROOT/pve-1 boot=zfs\n");
  const auto steps = plan_by_proxmox_boot_tool(setup.subject(), limit);
  ASSERT_TRUE(steps);
  EXPECT_EQ(files_after(setup, steps->steps).at("/etc/kernel/cmdline"),
            "root=ZFS=rpool/ROOT/pve-1 boot=zfs ttm.pages_limit=9\n");
  EXPECT_THAT(command_lines(steps->steps), ElementsAre("proxmox-boot-tool refresh"));
}

TEST(kernelstub, edits_the_users_list_and_nothing_else) {
  const std::string text =
      "{\n  \"default\": {\n    \"kernel_options\": [\n      \"quiet\",\n      \"splash\"\n    ],\n"
      "    \"esp_path\": \"/boot/efi\"\n  },\n  \"user\": {\n    \"note\": "
      "\"\\\"kernel_options\\\": [\",\n    \"kernel_options\": [\n      \"quiet\",\n      "
      "\"amdgpu.gttsize=5\",\n      \"splash\"\n    ],\n    \"config_rev\":  4\n  }\n}";
  std::string expected = text;
  const std::string old = "\"amdgpu.gttsize=5\",\n      \"splash\"\n";
  expected.replace(expected.find(old), old.size(), "\"splash\",\n      \"ttm.pages_limit=9\"\n");
  EXPECT_EQ(*edit_kernelstub_configuration(text, limit), expected);
}

TEST(kernelstub, takes_lists_of_any_form_and_refuses_what_is_none) {
  const auto edit = [](const std::string& list) {
    return edit_kernelstub_configuration(R"({"user": {"kernel_options": )" + list + "}}", limit)
        .value_or("refused");
  };
  EXPECT_EQ(edit("[]"), R"({"user": {"kernel_options": ["ttm.pages_limit=9"]}})");
  EXPECT_EQ(edit(R"(["a b=\"c d\"", ""])"),
            R"({"user": {"kernel_options": ["a", "b=\"c d\"", "ttm.pages_limit=9"]}})");
  EXPECT_EQ(edit("\"quiet splash\""), "refused");
  EXPECT_EQ(edit("[1]"), "refused");
  EXPECT_EQ(edit("["), "refused");
  EXPECT_FALSE(edit_kernelstub_configuration("", limit));
  EXPECT_FALSE(edit_kernelstub_configuration("[]", limit));
  EXPECT_FALSE(edit_kernelstub_configuration(R"({"default": {"kernel_options": []}})", limit));
}

}  // namespace
}  // namespace headroom::plan
