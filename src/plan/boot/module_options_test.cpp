// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/module_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/boot/initramfs.h"
#include "plan/boot/modprobe_files.h"
#include "plan/boot/setup_for_test.h"

namespace headroom::plan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const ParameterChange set_limit{"ttm", "pages_limit", "9"};
const ParameterChange drop_gtt{"amdgpu", "gttsize", std::nullopt};

TEST(modprobe_files, edits_one_word_of_a_line) {
  EXPECT_EQ(edit_parameter("# a\noptions ttm  pages_limit=1 page_pool_size=2\n", set_limit),
            "# a\noptions ttm  pages_limit=9 page_pool_size=2\n");
  EXPECT_EQ(edit_parameter("options amdgpu dc=1 gttsize=5 sg_display=0\n", drop_gtt),
            "options amdgpu dc=1 sg_display=0\n");
}

TEST(modprobe_files, a_line_that_sets_nothing_more_goes) {
  EXPECT_EQ(edit_parameter("a\noptions amdgpu gttsize=5\nb\n", drop_gtt), "a\nb\n");
  EXPECT_EQ(edit_parameter("options amdgpu gttsize=5 gttsize=6", drop_gtt), "");
}

TEST(modprobe_files, comments_and_other_modules_stay) {
  const std::string text =
      "#options amdgpu gttsize=5\n # options amdgpu gttsize=5\noptions amdgpu2 gttsize=5\n"
      "softdep amdgpu pre: gttsize=5\noptions amdgpu\noptions other gttsize=1\n";
  EXPECT_EQ(edit_parameter(text, drop_gtt), text);
  EXPECT_FALSE(sets_parameter(text, drop_gtt));
}

TEST(modprobe_files, continued_lines_are_one_line) {
  EXPECT_EQ(edit_parameter("options amdgpu \\\n  dc=1 \\\n  gttsize=5 \\\n  x=2\ny\n", drop_gtt),
            "options amdgpu \\\n  dc=1 \\\n  x=2\ny\n");
  EXPECT_EQ(edit_parameter("options ttm \\\n  pages_limit=1\n", set_limit),
            "options ttm \\\n  pages_limit=9\n");
  const std::string comment = "# a comment \\\noptions amdgpu gttsize=5\n";
  EXPECT_EQ(edit_parameter(comment, drop_gtt), comment);
}

TEST(modprobe_files, names_with_dashes_and_quoted_values) {
  EXPECT_EQ(edit_parameter("options ttm pages-limit=\"1 2\" x\n", set_limit),
            "options ttm pages_limit=9 x\n");
}

TEST(modprobe_files, a_quote_that_is_not_closed_ends_with_its_line) {
  EXPECT_EQ(edit_parameter("options ttm a=1 pages_limit=\"5\noptions ttm foo=2\n", set_limit),
            "options ttm a=1 pages_limit=9\noptions ttm foo=2\n");
}

TEST(modprobe_files, however_many_set_it_one_is_left) {
  std::string line = "options ttm", lines;
  for (int i = 0; i < 3000; ++i) {
    line += " pages_limit=" + std::to_string(i);
    lines += "options ttm pages_limit=" + std::to_string(i) + (i % 2 == 0 ? "\n" : " a=1\n");
  }
  EXPECT_EQ(edit_parameter(line + "\n", set_limit), "options ttm pages_limit=9\n");
  const std::string edited = edit_parameter(lines, set_limit);
  EXPECT_TRUE(edited.ends_with("options ttm a=1\noptions ttm pages_limit=9 a=1\n"));
  EXPECT_EQ(std::count(edited.begin(), edited.end(), '\n'), 1500);
}

TEST(modprobe_files, the_last_of_several_keeps_it) {
  EXPECT_EQ(edit_parameter("options ttm pages_limit=1\noptions ttm a=1 pages_limit=2\n", set_limit),
            "options ttm a=1 pages_limit=9\n");
}

TEST(modprobe_files, read_by_name_and_etc_takes_the_place_of_usr) {
  TestSetup setup;
  setup.add("/usr/lib/modprobe.d/b.conf", "b");
  setup.add("/etc/modprobe.d/c.conf", "c");
  setup.add("/usr/lib/modprobe.d/c.conf", "hidden");
  setup.add("/etc/modprobe.d/a.conf", "a");
  setup.add("/etc/modprobe.d/a.conf.bak", "no");
  std::string order;
  for (const auto* file : modprobe_files(setup.boot)) order += file->text;
  EXPECT_EQ(order, "abc");
}

TEST(module_options, a_new_parameter_goes_to_a_file_of_its_own) {
  const TestSetup setup = ubuntu();
  const auto steps =
      plan_module_options(setup.subject(), {set_limit, {"ttm", "page_pool_size", "8"}, drop_gtt});
  ASSERT_TRUE(steps);
  EXPECT_THAT(files_after(setup, steps->steps).at("/etc/modprobe.d/headroom.conf"),
              testing::EndsWith("\noptions ttm pages_limit=9 page_pool_size=8\n"));
  EXPECT_THAT(command_lines(steps->steps), ElementsAre("update-initramfs -u -k all"));
  EXPECT_EQ(steps->fallback, BootFallback::by_hand);
}

TEST(module_options, what_is_set_is_edited_where_it_is_set_last) {
  TestSetup setup = ubuntu();
  setup.add("/etc/modprobe.d/10-ttm.conf", "options ttm pages_limit=1\noptions ttm x=1\n");
  setup.add("/etc/modprobe.d/zz.conf", "options ttm pages_limit=2\n");
  const auto steps = plan_module_options(setup.subject(), {set_limit});
  ASSERT_TRUE(steps);
  const auto files = files_after(setup, steps->steps);
  EXPECT_EQ(files.size(), 2U);
  EXPECT_EQ(files.at("/etc/modprobe.d/10-ttm.conf"), "options ttm x=1\n");
  EXPECT_EQ(files.at("/etc/modprobe.d/zz.conf"), "options ttm pages_limit=9\n");
}

TEST(module_options, two_parameters_of_one_file_are_one_edit) {
  TestSetup setup = ubuntu();
  setup.add("/etc/modprobe.d/gpu.conf", "options amdgpu gttsize=5\noptions ttm pages_limit=2\n");
  const auto steps = plan_module_options(setup.subject(), {set_limit, drop_gtt});
  ASSERT_TRUE(steps);
  EXPECT_EQ(files_after(setup, steps->steps).at("/etc/modprobe.d/gpu.conf"),
            "options ttm pages_limit=9\n");
  EXPECT_EQ(steps->steps.size(), 2U);
}

TEST(module_options, the_distributions_file_is_overridden_not_edited) {
  TestSetup setup = ubuntu();
  setup.add("/usr/lib/modprobe.d/gpu.conf", "options amdgpu gttsize=5 dc=1\n");
  const auto steps = plan_module_options(setup.subject(), {drop_gtt});
  ASSERT_TRUE(steps);
  EXPECT_EQ(files_after(setup, steps->steps).at("/etc/modprobe.d/gpu.conf"),
            "options amdgpu dc=1\n");
  EXPECT_THAT(steps->steps[0].why, HasSubstr("replaces the distribution's file"));
}

// ttm.conf was written by hand, and sets what is wanted.
TestSetup written_by_hand() {
  TestSetup setup = ubuntu();
  const std::string path = "/etc/modprobe.d/ttm.conf";
  const std::string text = "options ttm pages_limit=9\n";
  setup.add(path, text);
  setup.machine.options = facts::parse_modprobe({text, {path, 1, text}});
  return setup;
}

void put_in_image(TestSetup& setup, facts::Text text) {
  setup.machine.initramfs_copies = {
      {setup.boot.kernels[0].initramfs, "/etc/modprobe.d/ttm.conf", std::move(text)}};
}

TEST(module_options, files_edited_by_hand_are_put_into_an_image_that_was_not_seen_to_hold_them) {
  TestSetup setup = written_by_hand();
  const auto unread = plan_module_options(setup.subject(), {set_limit});
  ASSERT_TRUE(unread);
  EXPECT_THAT(command_lines(unread->steps), ElementsAre("update-initramfs -u -k all"));

  put_in_image(setup, {"options ttm pages_limit=8\n", {"initrd", 1, ""}});
  const auto older = plan_module_options(setup.subject(), {set_limit});
  ASSERT_TRUE(older);
  EXPECT_THAT(command_lines(older->steps), ElementsAre("update-initramfs -u -k all"));
}

TEST(module_options, nothing_is_done_where_files_and_image_hold_it) {
  TestSetup setup = written_by_hand();
  put_in_image(setup, {"options ttm pages_limit=9\n", {"initrd", 1, ""}});
  const auto steps = plan_module_options(setup.subject(), {set_limit});
  ASSERT_TRUE(steps);
  EXPECT_TRUE(steps->steps.empty());
}

TEST(module_options, image_based_systems_are_refused_with_the_other_way) {
  TestSetup setup = ubuntu();
  setup.boot.image_based = true;
  const auto steps = plan_module_options(setup.subject(), {set_limit});
  ASSERT_FALSE(steps);
  EXPECT_EQ(steps.error().code, Errc::unsupported);
  EXPECT_THAT(steps.error().next, testing::EndsWith("--via kernel"));
}

TEST(module_options, without_a_known_initramfs_tool_a_person_makes_it) {
  TestSetup setup = ubuntu();
  setup.boot.initramfs = {facts::Missing{}, {"PATH", 0, ""}};
  const auto steps = plan_module_options(setup.subject(), {set_limit});
  ASSERT_TRUE(steps);
  EXPECT_TRUE(std::holds_alternative<Instruction>(steps->steps.back().action));
}

TEST(initramfs, every_image_must_hold_every_file) {
  TestSetup setup = ubuntu();
  setup.boot.kernels.push_back({"6.1.0-1", "/boot/initrd.img-6.1.0-1", false});
  setup.boot.kernels.push_back({"5.0", "", false});
  const auto steps = plan_initramfs(setup.boot, {"/etc/modprobe.d/a.conf"});
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->size(), 1U);
  ASSERT_EQ((*steps)[0].expects.size(), 2U);
  EXPECT_EQ((*steps)[0].expects[1].kind, Expectation::Kind::image_holds);
  EXPECT_EQ((*steps)[0].expects[1].path, "/boot/initrd.img-6.1.0-1");
  const auto& command = std::get<Command>((*steps)[0].action);
  EXPECT_THAT(command.generates, Contains("/boot/initrd.img-*"));
  EXPECT_EQ(command.undo, command.argv);
}

TEST(initramfs, dracut_is_told_the_files_unless_it_is_known_to_take_them) {
  TestSetup setup = fedora();
  auto steps = plan_initramfs(setup.boot, {"/etc/modprobe.d/a.conf"});
  ASSERT_TRUE(steps);
  EXPECT_EQ(files_after(setup, *steps).at("/etc/dracut.conf.d/headroom.conf"),
            "install_items+=\" /etc/modprobe.d/a.conf \"\n");
  setup.add("/etc/dracut.conf.d/x.conf", "# hostonly=\"no\"\nhostonly=\"yes\"\n");
  steps = plan_initramfs(setup.boot, {"/etc/modprobe.d/a.conf"});
  EXPECT_EQ(steps->size(), 1U);
  EXPECT_THAT(command_lines(*steps), ElementsAre("dracut --force --regenerate-all"));
  EXPECT_EQ((*steps)[0].expects.size(), 1U);
}

TEST(initramfs, mkinitcpio_without_modconf_is_not_asked_for_the_files) {
  TestSetup setup;
  setup.use(facts::InitramfsTool::mkinitcpio);
  setup.boot.kernels = {{"6.17.8-arch1-1", "/boot/initramfs-linux.img", true}};
  setup.add("/etc/mkinitcpio.d/linux.preset",
            "default_image=\"/boot/initramfs-linux.img\"\n#x_image=\"/no\"\n"
            "fallback_image='/boot/initramfs-linux-fallback.img'\n");
  setup.add("/etc/mkinitcpio.conf", "#HOOKS=(base modconf)\nHOOKS=(base udev\n  kms block)\n");
  auto steps = plan_initramfs(setup.boot, {"/etc/modprobe.d/a.conf"});
  ASSERT_TRUE(steps);
  EXPECT_TRUE(steps->back().expects.empty());
  EXPECT_THAT(steps->back().why, HasSubstr("no modconf"));
  EXPECT_THAT(std::get<Command>(steps->back().action).generates,
              ElementsAre("/boot/initramfs-linux-fallback.img", "/boot/initramfs-linux.img"));
  setup.boot.files.back().text = "HOOKS=(base udev\n  modconf kms)\n";
  steps = plan_initramfs(setup.boot, {"/etc/modprobe.d/a.conf"});
  EXPECT_EQ(steps->back().expects.size(), 1U);
  EXPECT_TRUE(has_modconf_hook(setup.boot));
  setup.add("/etc/mkinitcpio.conf.d/x.conf", "HOOKS=\"base udev\"\n");
  EXPECT_FALSE(has_modconf_hook(setup.boot));
}

TEST(initramfs, proxmox_copies_the_images_to_its_partitions) {
  TestSetup setup = ubuntu();
  setup.use(facts::CommandLineTool::proxmox_boot_tool);
  const auto steps = plan_initramfs(setup.boot, {});
  ASSERT_TRUE(steps);
  EXPECT_THAT(command_lines(*steps),
              ElementsAre("update-initramfs -u -k all", "proxmox-boot-tool refresh"));
  EXPECT_EQ(std::get<Command>(steps->back().action).undo_run, UndoRun::always);
}

}  // namespace
}  // namespace headroom::plan
