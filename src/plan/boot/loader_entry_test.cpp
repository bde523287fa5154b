// SPDX-License-Identifier: Apache-2.0
// Loader entries, and the tools that write them: grubby and whoever edits for systemd-boot.
#include "plan/boot/loader_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/boot/grubby.h"
#include "plan/boot/kernel_cmdline_file.h"
#include "plan/boot/setup_for_test.h"
#include "plan/boot/systemd_boot.h"

namespace headroom::plan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const ArgumentChange limit{{"ttm.pages_limit=9"}, {"amdgpu.gttsize"}};

TEST(loader_entry, edits_the_options_and_nothing_else) {
  EXPECT_EQ(edit_entry("title\tArch Linux\r\n# options x\nlinux /vmlinuz\noptions\troot=a  rw "
                       "amdgpu.gttsize=5\nfoo",
                       limit),
            "title\tArch Linux\r\n# options x\nlinux /vmlinuz\noptions\troot=a  rw "
            "ttm.pages_limit=9\nfoo");
}

TEST(loader_entry, several_option_lines_count_together) {
  EXPECT_EQ(
      edit_entry("options root=a amdgpu.gttsize=1\noptions ttm.pages_limit=1\noptions rw\n", limit),
      "options root=a\noptions ttm.pages_limit=9\noptions rw\n");
  EXPECT_EQ(entry_options("options a\nlinux /x\n options  b c \n"), "a b c");
}

TEST(loader_entry, an_entry_without_options_gets_a_line) {
  EXPECT_EQ(edit_entry("linux /x", limit), "linux /x\noptions ttm.pages_limit=9\n");
  EXPECT_EQ(edit_entry("linux /x\noptions\n", limit), "linux /x\noptions ttm.pages_limit=9\n");
  EXPECT_EQ(edit_entry("linux /x\n", {{}, {"a"}}), "linux /x\n");
}

TEST(loader_entry, boot_counters_are_no_part_of_the_id) {
  EXPECT_EQ(entry_id("/boot/loader/entries/arch+3-1.conf"), "arch");
  EXPECT_EQ(entry_id("/x/6.12.48+deb12-amd64.conf"), "6.12.48+deb12-amd64");
}

TestSetup fedora_with_entries() {
  TestSetup setup = fedora();
  setup.add("/boot/loader/entries/5f1c-6.17.9-200.fc42.x86_64.conf",
            "title Fedora\nversion 6.17.9-200.fc42.x86_64\nlinux /vmlinuz-6.17.9-200.fc42.x86_64\n"
            "options root=UUID=0f5e ro amdgpu.gtt-size=3 amdgpu.gttsize=4\n");
  setup.add("/boot/loader/entries/5f1c-0-rescue.conf",
            "title Rescue\nlinux /vmlinuz-0-rescue\noptions root=UUID=0f5e ro\n");
  setup.add("/etc/kernel/cmdline", "root=UUID=0f5e ro\n");
  return setup;
}

TEST(grubby, edits_all_entries_and_the_later_ones) {
  TestSetup setup = fedora_with_entries();
  setup.trial = false;
  const auto steps = plan_by_grubby(setup.subject(), limit);
  ASSERT_TRUE(steps);
  EXPECT_EQ(files_after(setup, steps->steps).at("/etc/kernel/cmdline"),
            "root=UUID=0f5e ro ttm.pages_limit=9\n");
  EXPECT_THAT(command_lines(steps->steps),
              ElementsAre("grubby --update-kernel=ALL --remove-args=amdgpu.gttsize "
                          "--args=ttm.pages_limit=9"));
  const auto& command = std::get<Command>(steps->steps.back().action);
  EXPECT_THAT(command.edits, Contains("/boot/loader/entries/*.conf"));
  EXPECT_THAT(command.edits, Contains("/etc/default/grub"));
  EXPECT_TRUE(command.generates.empty());
  EXPECT_EQ(steps->steps.back().expects.at(0).path, "/boot/loader/entries/*.conf");
}

TEST(grubby, what_starts_another_system_need_not_hold_the_words) {
  TestSetup setup = fedora_with_entries();
  setup.trial = false;
  setup.add("/boot/loader/entries/5f1c-0-headroomtrial.conf", "linux /left\n");
  setup.add("/boot/loader/entries/windows.conf", "title Windows\nefi /EFI/bootmgfw.efi\n");
  const auto steps = plan_by_grubby(setup.subject(), limit);
  ASSERT_TRUE(steps);
  std::vector<std::string> paths;
  for (const Expectation& expected : steps->steps.back().expects) paths.push_back(expected.path);
  const std::string rescue = "/boot/loader/entries/5f1c-0-rescue.conf";
  const std::string usual = "/boot/loader/entries/5f1c-6.17.9-200.fc42.x86_64.conf";
  EXPECT_THAT(paths, ElementsAre(rescue, rescue, usual, usual));
}

TEST(grubby, names_every_spelling_that_the_kernel_takes_for_the_same) {
  TestSetup setup = fedora_with_entries();
  const auto steps = plan_by_grubby(setup.subject(), {{"amdgpu.gtt_size=7"}, {}});
  ASSERT_TRUE(steps);
  EXPECT_THAT(command_lines(steps->on_confirm),
              ElementsAre("grubby --update-kernel=ALL --remove-args=amdgpu.gtt-size "
                          "--args=amdgpu.gtt_size=7"));
}

TEST(grubby, tries_the_new_line_first) {
  const TestSetup setup = fedora_with_entries();
  const auto steps = plan_by_grubby(setup.subject(), limit);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->fallback, BootFallback::next_boot);
  EXPECT_THAT(command_lines(steps->steps), ElementsAre("grub2-reboot 5f1c-0-headroomtrial"));
  EXPECT_EQ(command_lines(steps->on_confirm).size(), 1U);
}

TEST(grubby, kernelopts_are_put_back_as_they_were) {
  TestSetup setup = fedora();
  setup.trial = false;
  setup.add("/boot/loader/entries/a-5.14.0-1.conf", "linux /vmlinuz\noptions $kernelopts\n");
  setup.add("/boot/grub2/grubenv", "kernelopts=root=/dev/sda ro\n###");
  const auto steps = plan_by_grubby(setup.subject(), limit);
  ASSERT_TRUE(steps);
  const auto& command = std::get<Command>(steps->steps.back().action);
  EXPECT_THAT(command.generates, ElementsAre("/boot/grub2/grubenv"));
  EXPECT_THAT(command.undo, ElementsAre("grub2-editenv", "/boot/grub2/grubenv", "set",
                                        "kernelopts=root=/dev/sda ro"));
  EXPECT_EQ(steps->steps.back().expects.at(0).path, "/boot/grub2/grubenv");
}

TEST(grubby, nothing_to_do_is_no_step_and_what_it_splits_is_refused) {
  TestSetup setup = fedora();
  setup.add("/boot/loader/entries/a.conf", "linux /vmlinuz\noptions ro ttm.pages_limit=9\n");
  const auto steps = plan_by_grubby(setup.subject(), limit);
  ASSERT_TRUE(steps);
  EXPECT_TRUE(steps->steps.empty());
  EXPECT_FALSE(plan_by_grubby(setup.subject(), {{"a=\"b c\""}, {}}));
}

TEST(kernel_cmdline_file, new_words_go_to_the_line_that_counts) {
  EXPECT_EQ(edit_cmdline_text("# mine\nroot=a ro\n# end\n", limit),
            "# mine\nroot=a ro ttm.pages_limit=9\n# end\n");
  EXPECT_EQ(edit_cmdline_text("root=a\nttm.pages_limit=1 x\n", limit),
            "root=a ttm.pages_limit=9\nx\n");
  EXPECT_EQ(edit_cmdline_text("root=a", limit), "root=a ttm.pages_limit=9");
  EXPECT_EQ(edit_cmdline_text("", limit), "ttm.pages_limit=9\n");
}

TestSetup arch() {
  TestSetup setup;
  setup.use(facts::CommandLineTool::systemd_boot);
  setup.boot.entries = "/boot/loader/entries";
  setup.programs({"bootctl"});
  setup.boot.kernels = {{"6.17.8-arch1-1", "/boot/initramfs-linux.img", true},
                        {"6.12.58-1-lts", "/boot/initramfs-linux-lts.img", false}};
  const std::string folder = "/boot/loader/entries/";
  setup.add(folder + "arch.conf",
            "title Arch\nlinux /vmlinuz-linux\ninitrd /amd-ucode.img\ninitrd /initramfs-linux.img\n"
            "options root=UUID=d7 rw\n");
  setup.add(folder + "arch-lts.conf",
            "title LTS\nlinux /vmlinuz-linux-lts\ninitrd /initramfs-linux-lts.img\n"
            "options root=UUID=d7 rw\n");
  setup.add(folder + "arch-fallback.conf",
            "title Arch (fallback)\nlinux /vmlinuz-linux\ninitrd /initramfs-linux-fallback.img\n"
            "options root=UUID=d7 rw\n");
  setup.add(folder + "other.conf",
            "title Other system\nlinux /other/vmlinuz\noptions root=UUID=99 rw\n");
  setup.add(folder + "memtest.conf", "title Memtest\nefi /memtest.efi\n");
  return setup;
}

TEST(systemd_boot, edits_this_systems_entries_and_leaves_a_way_back) {
  TestSetup setup = arch();
  setup.trial = false;
  const auto steps = plan_by_loader_entries(setup.subject(), limit);
  ASSERT_TRUE(steps);
  const auto files = files_after(setup, steps->steps);
  EXPECT_EQ(files.size(), 2U);
  EXPECT_THAT(files.at("/boot/loader/entries/arch.conf"),
              HasSubstr("options root=UUID=d7 rw ttm.pages_limit=9\n"));
  EXPECT_TRUE(files.contains("/boot/loader/entries/arch-lts.conf"));
  EXPECT_THAT(steps->notes, Contains(HasSubstr("Fallback and rescue entries")));
}

TEST(systemd_boot, tries_a_copy_of_the_running_entry_once) {
  TestSetup setup = arch();
  setup.add("/boot/loader/loader.conf", "default arch.conf\ntimeout 3\n");
  const auto steps = plan_by_loader_entries(setup.subject(), limit);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->fallback, BootFallback::next_boot);
  const auto files = files_after(setup, steps->steps);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files.at("/boot/loader/entries/headroom-trial.conf"),
            "title Trial by headroom: Arch\nlinux /vmlinuz-linux\ninitrd /amd-ucode.img\ninitrd "
            "/initramfs-linux.img\noptions root=UUID=d7 rw ttm.pages_limit=9\n");
  EXPECT_THAT(command_lines(steps->steps), ElementsAre("bootctl set-oneshot headroom-trial.conf"));
  EXPECT_EQ(std::get<Command>(steps->steps.back().action).undo_run, UndoRun::always);
  const auto after = files_after(setup, steps->on_confirm, files);
  EXPECT_EQ(after.at("/boot/loader/entries/headroom-trial.conf"), "(gone)");
  EXPECT_EQ(after.size(), 3U);
}

TEST(systemd_boot, a_default_that_could_move_is_pinned_during_the_trial) {
  for (const char* loader : {"timeout 3\n", "default arch*\n", "default @saved", ""}) {
    TestSetup setup = arch();
    setup.add("/boot/loader/loader.conf", loader);
    const auto steps = plan_by_loader_entries(setup.subject(), limit);
    ASSERT_TRUE(steps);
    auto files = files_after(setup, steps->steps);
    EXPECT_THAT(files.at("/boot/loader/loader.conf"), testing::EndsWith("default arch.conf\n"));
    EXPECT_THAT(files.at("/boot/loader/loader.conf"), testing::StartsWith(loader));
    files = files_after(setup, steps->on_confirm, files);
    EXPECT_EQ(files.at("/boot/loader/loader.conf"), loader);
  }
}

TEST(systemd_boot, a_default_that_names_no_entry_is_pinned_too) {
  // Old style, stale, not to be seen; and an entry of which nobody knows whether it starts.
  for (const char* name : {"arch", "gone.conf", "auto-windows", "other.conf", "arch-lts.conf"}) {
    TestSetup setup = arch();
    setup.add("/boot/loader/loader.conf", "default " + std::string(name) + "\n");
    const auto steps = plan_by_loader_entries(setup.subject(), limit);
    ASSERT_TRUE(steps);
    EXPECT_EQ(steps->fallback, BootFallback::next_boot);
    const auto files = files_after(setup, steps->steps);
    ASSERT_TRUE(files.contains("/boot/loader/loader.conf")) << name;
    EXPECT_EQ(files.at("/boot/loader/loader.conf"),
              "default " + std::string(name) + "\ndefault arch.conf\n");
  }
}

TEST(systemd_boot, a_counted_entry_is_pinned_by_what_stays_of_its_name) {
  TestSetup setup = arch();
  setup.boot.files[0].path = "/boot/loader/entries/arch+3-1.conf";
  setup.add("/boot/loader/loader.conf", "default arch+3-1.conf\n");
  const auto steps = plan_by_loader_entries(setup.subject(), limit);
  ASSERT_TRUE(steps);
  EXPECT_THAT(files_after(setup, steps->steps).at("/boot/loader/loader.conf"),
              testing::EndsWith("default arch*.conf\n"));
}

TEST(systemd_boot, a_default_that_brings_its_own_command_line_is_not_tried) {
  TestSetup setup = arch();
  setup.add("/boot/loader/loader.conf", "default arch-linux.EFI\n");
  const auto steps = plan_by_loader_entries(setup.subject(), limit);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->fallback, BootFallback::by_hand);
  EXPECT_TRUE(steps->on_confirm.empty());
  EXPECT_THAT(steps->notes, Contains(HasSubstr("arch-linux.EFI")));
}

TEST(systemd_boot, an_entry_without_a_version_is_known_by_loader_conf) {
  TestSetup setup = arch();
  setup.boot.kernels.clear();
  setup.add("/boot/loader/loader.conf", "#default arch.conf\ndefault arch-lts.conf\n");
  const BootSteps steps = with_systemd_boot_trial(setup.subject(), limit, {});
  EXPECT_THAT(files_after(setup, steps.steps).at("/boot/loader/entries/headroom-trial.conf"),
              HasSubstr("Trial by headroom: LTS"));
}

TEST(systemd_boot, no_entries_is_an_error_with_the_words) {
  TestSetup setup;
  setup.use(facts::CommandLineTool::systemd_boot);
  const auto steps = plan_by_loader_entries(setup.subject(), limit);
  ASSERT_FALSE(steps);
  EXPECT_THAT(steps.error().next, HasSubstr("set ttm.pages_limit=9, drop amdgpu.gttsize"));
}

}  // namespace
}  // namespace headroom::plan
