// SPDX-License-Identifier: Apache-2.0
// The image that is verified is the one that the boot entry loads.
#include "plan/boot/booted_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/boot/setup_for_test.h"

namespace headroom::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kernel = "6.1.0-41-amd64";
constexpr const char* booted = "/boot/efi/0123/6.1.0-41-amd64/initrd.img-6.1.0-41-amd64";
const std::vector<std::string> files = {"/etc/modprobe.d/headroom.conf"};

// Debian 12 whose kernel-install copied the image of /boot to the EFI system partition.
TestSetup debian_with_systemd_boot(facts::InitramfsTool tool) {
  TestSetup setup;
  setup.use(facts::CommandLineTool::systemd_boot);
  setup.use(tool);
  setup.boot.entries = "/boot/efi/loader/entries";
  setup.boot.kernels = {{kernel, "/boot/initrd.img-6.1.0-41-amd64", true}};
  setup.add("/boot/efi/loader/entries/0123-6.1.0-41-amd64.conf",
            "title Debian\nversion 6.1.0-41-amd64\noptions root=/dev/x\n"
            "linux /0123/6.1.0-41-amd64/linux\n"
            "initrd /amd-ucode.img\n"
            "initrd /0123/6.1.0-41-amd64/initrd.img-6.1.0-41-amd64\n");
  setup.add("/etc/dracut.conf.d/x.conf", "hostonly=\"yes\"\n");
  return setup;
}

std::vector<std::string> verified(const std::vector<Step>& steps) {
  std::vector<std::string> images;
  for (const Step& step : steps) {
    for (const Expectation& one : step.expects) images.push_back(one.path);
  }
  return images;
}

TEST(BootedImages, are_what_the_entries_name_on_their_partition) {
  const TestSetup setup = debian_with_systemd_boot(facts::InitramfsTool::dracut);
  const auto images = booted_images(setup.boot);
  ASSERT_EQ(images.size(), 1U);
  EXPECT_EQ(images[0].path, booted);
  EXPECT_EQ(images[0].kernel, kernel);
}

TEST(BootedImages, dracut_is_told_the_file_that_the_entry_loads) {
  const TestSetup setup = debian_with_systemd_boot(facts::InitramfsTool::dracut);
  const auto steps = plan_initramfs(setup.boot, files);
  ASSERT_TRUE(steps);
  EXPECT_THAT(command_lines(*steps),
              ElementsAre("dracut --force /boot/initrd.img-6.1.0-41-amd64 6.1.0-41-amd64",
                          std::string("dracut --force ") + booted + " 6.1.0-41-amd64"));
  EXPECT_THAT(verified(*steps), ElementsAre("/boot/initrd.img-6.1.0-41-amd64", booted));
}

TEST(BootedImages, a_hook_of_update_initramfs_copies_to_where_the_entry_reads) {
  TestSetup setup = debian_with_systemd_boot(facts::InitramfsTool::update_initramfs);
  setup.boot.initramfs_hooks = {"systemd-boot"};
  const auto steps = plan_initramfs(setup.boot, files);
  ASSERT_TRUE(steps);
  EXPECT_THAT(command_lines(*steps), ElementsAre("update-initramfs -u -k all"));
  EXPECT_THAT(verified(*steps), ElementsAre(booted));
}

TEST(BootedImages, what_no_command_makes_is_said_and_nothing_else_is_verified_for_it) {
  const TestSetup setup = debian_with_systemd_boot(facts::InitramfsTool::update_initramfs);
  const auto steps = plan_initramfs(setup.boot, files);
  ASSERT_TRUE(steps);
  EXPECT_THAT(verified(*steps), IsEmpty());
  const auto* told = std::get_if<Instruction>(&steps->back().action);
  ASSERT_NE(told, nullptr);
  EXPECT_THAT(steps->back().what, HasSubstr(booted));
  EXPECT_THAT(told->text, HasSubstr("kernel-install add 6.1.0-41-amd64"));
}

TEST(BootedImages, entries_of_another_system_and_of_a_trial_do_not_count) {
  TestSetup setup = debian_with_systemd_boot(facts::InitramfsTool::dracut);
  setup.add("/boot/efi/loader/entries/fedora.conf",
            "linux /f/linux\ninitrd /f/initrd\noptions root=/dev/y\n");
  setup.add("/boot/efi/loader/entries/headroom-trial.conf",
            "linux /0123/6.1.0-41-amd64/linux\ninitrd /other\noptions root=/dev/x a=1\n");
  EXPECT_EQ(booted_images(setup.boot).size(), 1U);
}

}  // namespace
}  // namespace headroom::plan
