// SPDX-License-Identifier: Apache-2.0
// read_boot_setup on every distribution of tests/distributions: the right tools, although most of
// them have files of others lying about.
#include "probe/read_boot_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"
#include "machine/files.h"
#include "probe/read_machine.h"
#include "support/distribution.h"
#include "support/scratch_root.h"

namespace headroom::probe {
namespace {

using facts::BootSetup;
using facts::CommandLineTool;
using facts::InitramfsTool;
using facts::Why;
using testing::ScratchRoot;

BootSetup read(const ScratchRoot& root) {
  const auto files = machine::Files::open(root.string());
  EXPECT_TRUE(files.has_value());
  return read_boot_setup(*files, read_machine(*files));
}

struct Expected {
  const char* distribution;
  const char* tool;       // "" where there is none.
  const char* initramfs;  // Likewise.
  bool image_based;
  const char* grub_config;
  const char* entries;
  bool grubenv_writable;
  std::vector<std::pair<std::string, std::string>> kernels;  // Version and image.
};

std::vector<Expected> expectations() {
  const std::string ubuntu = "/boot/initrd.img-6.14.0-3";
  return {
      {"arch-grub",
       "grub-mkconfig",
       "mkinitcpio",
       false,
       "/boot/grub/grub.cfg",
       "",
       true,
       {{"6.17.8-arch1-1", "/boot/initramfs-linux.img"},
        {"6.12.58-1-lts", "/boot/initramfs-linux-lts.img"}}},
      {"arch-systemd-boot",
       "systemd-boot",
       "mkinitcpio",
       false,
       "",
       "/boot/loader/entries",
       false,
       {{"6.17.8-arch1-1", "/boot/initramfs-linux.img"},
        {"6.12.58-1-lts", "/boot/initramfs-linux-lts.img"}}},
      {"bazzite",
       "rpm-ostree",
       "",
       true,
       "/boot/grub2/grub.cfg",
       "/boot/loader/entries",
       true,
       {{"6.17.7-ba14.fc42.x86_64", ""}}},
      {"debian-12",
       "update-grub",
       "update-initramfs",
       false,
       "/boot/grub/grub.cfg",
       "",
       false,
       {{"6.12.48+deb12-amd64", "/boot/initrd.img-6.12.48+deb12-amd64"},
        {"6.1.0-40-amd64", "/boot/initrd.img-6.1.0-40-amd64"}}},
      {"debian-13",
       "update-grub",
       "update-initramfs",
       false,
       "/boot/grub/grub.cfg",
       "",
       true,
       {{"6.16.12+deb13-amd64", "/boot/initrd.img-6.16.12+deb13-amd64"},
        {"6.12.48+deb13-amd64", "/boot/initrd.img-6.12.48+deb13-amd64"}}},
      {"fedora-42",
       "grubby",
       "dracut",
       false,
       "/boot/grub2/grub.cfg",
       "/boot/loader/entries",
       true,
       {{"6.17.9-200.fc42.x86_64", "/boot/initramfs-6.17.9-200.fc42.x86_64.img"},
        {"6.17.7-200.fc42.x86_64", "/boot/initramfs-6.17.7-200.fc42.x86_64.img"}}},
      {"nixos", "nixos", "", true, "", "/boot/loader/entries", false, {}},
      {"opensuse-tumbleweed",
       "grub-mkconfig",
       "dracut",
       false,
       "/boot/grub2/grub.cfg",
       "",
       false,
       {{"6.17.8-1-default", "/boot/initrd-6.17.8-1-default"},
        {"6.17.7-1-default", "/boot/initrd-6.17.7-1-default"}}},
      {"popos",
       "kernelstub",
       "update-initramfs",
       false,
       "",
       "/boot/efi/loader/entries",
       false,
       {{"6.16.3-76061603-generic", "/boot/initrd.img-6.16.3-76061603-generic"},
        {"6.12.10-76061203-generic", "/boot/initrd.img-6.12.10-76061203-generic"}}},
      {"proxmox-grub",
       "update-grub",
       "update-initramfs",
       false,
       "/boot/grub/grub.cfg",
       "",
       false,
       {{"6.17.2-1-pve", "/boot/initrd.img-6.17.2-1-pve"},
        {"6.14.11-4-pve", "/boot/initrd.img-6.14.11-4-pve"}}},
      {"proxmox-zfs",
       "proxmox-boot-tool",
       "update-initramfs",
       false,
       "/boot/grub/grub.cfg",
       "",
       false,
       {{"6.17.2-1-pve", "/boot/initrd.img-6.17.2-1-pve"},
        {"6.14.11-4-pve", "/boot/initrd.img-6.14.11-4-pve"}}},
      {"steamos",
       "",
       "",
       true,
       "",
       "",
       false,
       {{"6.11.11-valve24-1-neptune-611-g9f1c1b3c8f4e", "/boot/initramfs-linux-neptune-611.img"}}},
      {"ubuntu-24.04",
       "update-grub",
       "update-initramfs",
       false,
       "/boot/grub/grub.cfg",
       "",
       true,
       {{"6.14.0-37-generic", ubuntu + "7-generic"}, {"6.14.0-36-generic", ubuntu + "6-generic"}}},
  };
}

TEST(ReadBootSetup, every_distribution_is_told_by_its_own_tools) {
  std::vector<std::string> seen;
  for (const Expected& expected : expectations()) {
    SCOPED_TRACE(expected.distribution);
    seen.emplace_back(expected.distribution);
    const ScratchRoot root;
    testing::make_distribution(expected.distribution, root.path());
    const BootSetup setup = read(root);
    EXPECT_EQ(setup.command_line ? to_string(*setup.command_line) : "", expected.tool);
    EXPECT_EQ(setup.initramfs ? to_string(*setup.initramfs) : "", expected.initramfs);
    EXPECT_EQ(setup.image_based, expected.image_based);
    EXPECT_EQ(setup.grub_config, expected.grub_config);
    EXPECT_EQ(setup.entries, expected.entries);
    EXPECT_EQ(setup.grubenv_writable && *setup.grubenv_writable, expected.grubenv_writable);
    std::vector<std::pair<std::string, std::string>> kernels;
    for (const auto& kernel : setup.kernels) kernels.emplace_back(kernel.version, kernel.initramfs);
    EXPECT_EQ(kernels, expected.kernels);
    EXPECT_TRUE(setup.boot_id.known());
    EXPECT_TRUE(setup.unseen.empty());
    for (const auto& kernel : setup.kernels)
      EXPECT_EQ(kernel.running, &kernel == &setup.kernels[0]);
  }
  EXPECT_EQ(seen, testing::distribution_names()) << "a distribution without expectations";
}

TEST(ReadBootSetup, settings_beside_etc_default_grub_are_read_in_their_order) {
  const ScratchRoot root;
  testing::make_distribution("ubuntu-24.04", root.path());
  root.write("/etc/default/grub.d/50-cloudimg-settings.cfg", "GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\n");
  root.write("/etc/default/grub.d/60-later.cfg", "GRUB_CMDLINE_LINUX_DEFAULT=\"b\"\n");
  root.write("/etc/default/grub.d/notes.txt", "not one of them\n");
  std::vector<std::string> paths;
  for (const auto& file : read(root).files) {
    if (file.path.starts_with("/etc/default/")) paths.push_back(file.path);
  }
  EXPECT_THAT(paths, ::testing::ElementsAre("/etc/default/grub",
                                            "/etc/default/grub.d/50-cloudimg-settings.cfg",
                                            "/etc/default/grub.d/60-later.cfg"));
}

TEST(ReadBootSetup, a_file_that_is_a_link_is_found_by_both_names) {
  const ScratchRoot root;
  testing::make_distribution("nixos", root.path());
  const BootSetup setup = read(root);
  const auto* file = setup.file("/etc/modprobe.d/nixos.conf");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->path, "/etc/static/modprobe.d/nixos.conf");
  EXPECT_EQ(file, setup.file(file->path));
}

TEST(ReadBootSetup, the_unit_that_an_earlier_change_left_is_seen) {
  const ScratchRoot root;
  testing::make_distribution("debian-12", root.path());
  const std::string folder = "/etc/systemd/system/";
  root.write(folder + "headroom-confirm.service", "[Unit]\n");
  EXPECT_NE(read(root).file(folder + "headroom-confirm.service"), nullptr);
  const std::string link = folder + "multi-user.target.wants/headroom-confirm.service";
  EXPECT_EQ(read(root).file(link), nullptr);
  root.link(link, "../headroom-confirm.service");
  EXPECT_NE(read(root).file(link), nullptr);
}

TEST(ReadBootSetup, what_only_root_may_read_is_said_and_is_not_absent) {
  const ScratchRoot root;
  testing::make_distribution("fedora-42", root.path());
  std::filesystem::remove_all(root.path("/boot/loader"));
  std::filesystem::remove_all(root.path("/boot/grub2"));
  root.write("/MANIFEST.json", Json{{"read_errors",
                                     {{"/boot/loader", "EACCES"},
                                      {"/boot/loader/entries", "EACCES"},
                                      {"/boot/grub2/grub.cfg", "EACCES"}}}}
                                   .dump());
  const BootSetup setup = read(root);
  EXPECT_TRUE(setup.needs_root_to_see());
  EXPECT_EQ(setup.grub_config, "/boot/grub2/grub.cfg");
  EXPECT_EQ(setup.entries, "/boot/loader/entries");
  ASSERT_TRUE(setup.command_line.known());
  EXPECT_EQ(*setup.command_line, CommandLineTool::grubby);
}

TEST(ReadBootSetup, modules_that_outlived_their_kernel_are_no_kernel) {
  const ScratchRoot root;
  testing::make_distribution("ubuntu-24.04", root.path());
  root.write("/usr/lib/modules/6.11.0-29-generic/updates/dkms/amdgpu.ko", "");
  EXPECT_EQ(read(root).kernels.size(), 2U);
}

TEST(ReadBootSetup, an_empty_root_says_what_was_looked_for) {
  const ScratchRoot root;
  const BootSetup setup = read(root);
  ASSERT_FALSE(setup.command_line.known());
  EXPECT_EQ(setup.command_line.missing().why, Why::not_present);
  ASSERT_FALSE(setup.initramfs.known());
  EXPECT_FALSE(setup.grubenv_writable.known());
  EXPECT_TRUE(setup.kernels.empty());
  EXPECT_FALSE(setup.image_based);
}

}  // namespace
}  // namespace headroom::probe
