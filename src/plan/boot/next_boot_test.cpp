// SPDX-License-Identifier: Apache-2.0
// This boot's command line and the next one's, held apart.
#include "plan/boot/next_boot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/boot/setup_for_test.h"

namespace headroom::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* limit = "ttm.pages_limit=31457280";
const ParameterChange set_limit{"ttm", "pages_limit", "31457280"};

std::string menu_with(const std::string& words) {
  return "set default=\"0\"\nmenuentry 'Ubuntu' --id one {\n  linux /vmlinuz root=/dev/x " + words +
         "\n  initrd /initrd.img\n}\n";
}

TestSetup ubuntu_with(const std::string& words) {
  TestSetup setup = ubuntu();
  setup.add("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"" + words + "\"\n");
  setup.add("/boot/grub/grub.cfg", menu_with(words));
  return setup;
}

TEST(NextBoot, grubs_menu_says_it_and_this_boots_command_line_does_not) {
  TestSetup setup = ubuntu_with("quiet");
  setup.on_command_line(limit);
  EXPECT_EQ(at_next_boot(setup.subject()).option("ttm", "pages_limit"), nullptr);
  setup = ubuntu_with(std::string("quiet ") + limit);
  const auto next = at_next_boot(setup.subject());
  const auto* option = next.option("ttm", "pages_limit");
  ASSERT_NE(option, nullptr);
  EXPECT_EQ(option->value, "31457280");
  EXPECT_EQ(option->source.path, "/boot/grub/grub.cfg");
  EXPECT_TRUE(is_kernel_argument(*option));
}

TEST(NextBoot, a_menu_that_cannot_be_read_is_told_by_what_it_is_made_from) {
  TestSetup setup = ubuntu();
  setup.add("/etc/default/grub",
            "GRUB_CMDLINE_LINUX=\"a=1\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet ttm.pages_limit=5\"\n");
  EXPECT_THAT(*next_command_line(setup.subject()), HasSubstr("ttm.pages_limit=5"));
  EXPECT_THAT(*next_command_line(setup.subject()), HasSubstr("a=1"));
}

TEST(NextBoot, where_no_file_tells_this_boot_stands_for_it) {
  TestSetup setup = ubuntu();
  setup.on_command_line(limit);
  EXPECT_FALSE(next_command_line(setup.subject()));
  EXPECT_NE(at_next_boot(setup.subject()).option("ttm", "pages_limit"), nullptr);
}

TEST(NextBoot, options_of_modprobe_stay) {
  TestSetup setup = ubuntu_with("quiet");
  setup.machine.options.push_back(
      {"ttm", "pages_limit", "7", {"/etc/modprobe.d/x.conf", 1, "options ttm pages_limit=7"}});
  setup.on_command_line(limit);
  EXPECT_EQ(at_next_boot(setup.subject()).option("ttm", "pages_limit")->value, "7");
}

TEST(NextBoot, a_trial_is_not_what_every_boot_gets) {
  TestSetup setup;
  setup.use(facts::CommandLineTool::systemd_boot);
  setup.boot.entries = "/boot/loader/entries";
  setup.boot.kernels = {{"6.17.8", "/boot/initramfs-6.17.8.img", true}};
  setup.add("/boot/loader/entries/arch.conf", "linux /vmlinuz-6.17.8\noptions root=/dev/x quiet\n");
  setup.add("/boot/loader/entries/headroom-trial.conf",
            std::string("linux /vmlinuz-6.17.8\noptions root=/dev/x quiet ") + limit + "\n");
  EXPECT_EQ(*next_command_line(setup.subject()), "root=/dev/x quiet");
}

TEST(NextBoot, of_ostrees_deployments_the_newest_counts) {
  TestSetup setup;
  setup.use(facts::CommandLineTool::rpm_ostree);
  setup.boot.entries = "/boot/loader/entries";
  setup.add("/boot/loader/entries/ostree-1.conf",
            std::string("version 1\nlinux /v\noptions ostree=/a ") + limit + "\n");
  setup.add("/boot/loader/entries/ostree-2.conf", "version 2\nlinux /v\noptions ostree=/b\n");
  EXPECT_EQ(*next_command_line(setup.subject()), "ostree=/b");
  // Undone, and not yet booted: it is put there again.
  setup.on_command_line(limit);
  const auto steps = plan_kernel_arguments(setup.subject(), {{limit}, {}});
  EXPECT_THAT(command_lines(steps->steps),
              ElementsAre(std::string("rpm-ostree kargs --append-if-missing=") + limit));
}

TEST(NextBoot, what_was_taken_out_of_the_files_does_not_draw_a_parameter_there) {
  TestSetup setup = ubuntu_with("quiet");
  setup.on_command_line(limit);
  setup.add("/etc/modprobe.d/ttm.conf", "options ttm pages_limit=1\n");
  const auto steps = plan_parameters(setup.subject(), {set_limit}, Via::automatic);
  EXPECT_EQ(files_after(setup, steps->steps).at("/etc/modprobe.d/ttm.conf"),
            "options ttm pages_limit=31457280\n");
}

TEST(NextBoot, words_that_this_boot_alone_has_are_lost) {
  TestSetup setup = ubuntu_with("quiet");
  setup.boot.cmdline = {std::string("root=/dev/x quiet iommu=pt"), {"/proc/cmdline", 1, ""}};
  EXPECT_TRUE(is_lost_at_next_boot(setup.subject(), "iommu=pt"));
  EXPECT_FALSE(is_lost_at_next_boot(setup.subject(), "quiet"));
}

}  // namespace
}  // namespace headroom::plan
