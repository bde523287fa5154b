// SPDX-License-Identifier: Apache-2.0
#include "facts/boot_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Text text(std::string value) {
  return {std::move(value), Source{"/test", 0, ""}};
}

BootTraces traces(const std::string& distribution, const std::vector<std::string>& programs) {
  BootTraces made;
  made.distribution_id = text(distribution);
  for (const std::string& name : programs) made.programs[name] = "/usr/sbin/" + name;
  return made;
}

BootTraces ubuntu() {
  BootTraces made = traces("ubuntu debian", {"update-grub", "grub-mkconfig", "update-initramfs"});
  made.default_grub = true;
  made.grub_config = "/boot/grub/grub.cfg";
  return made;
}

BootTraces with_systemd_boot(BootTraces made) {
  made.efi = true;
  made.loader_conf = "/efi/loader/loader.conf";
  made.systemd_boot_efi = "/efi/EFI/systemd/systemd-bootx64.efi";
  made.entries = "/efi/loader/entries";
  return made;
}

void expect_tool(const BootTraces& given, CommandLineTool wanted) {
  const auto tool = find_command_line_tool(given);
  ASSERT_TRUE(tool.known()) << to_string(tool.missing());
  EXPECT_EQ(to_string(*tool), to_string(wanted));
}

void expect_none(const BootTraces& given, const std::string& because) {
  const auto tool = find_command_line_tool(given);
  ASSERT_FALSE(tool.known()) << to_string(*tool);
  EXPECT_THAT(tool.missing().text, HasSubstr(because));
}

TEST(BootTools, grub_by_whatever_makes_its_menu) {
  expect_tool(ubuntu(), CommandLineTool::update_grub);
  BootTraces fedora = traces("fedora", {"grubby", "grub2-mkconfig", "dracut"});
  fedora.default_grub = true;
  fedora.grub_config = "/boot/grub2/grub.cfg";
  fedora.entries = "/boot/loader/entries";
  expect_tool(fedora, CommandLineTool::grubby);
  BootTraces suse = fedora;
  suse.programs.erase("grubby");
  expect_tool(suse, CommandLineTool::grub_mkconfig);
}

TEST(BootTools, arch_with_a_script_called_update_grub_still_has_grub_mkconfig) {
  BootTraces arch = ubuntu();
  arch.distribution_id = text("arch");
  expect_tool(arch, CommandLineTool::grub_mkconfig);
}

TEST(BootTools, rpm_ostree_comes_before_grubby) {
  BootTraces silverblue = traces("fedora", {"grubby", "grub2-mkconfig", "rpm-ostree", "dracut"});
  silverblue.default_grub = true;
  silverblue.grub_config = "/boot/grub2/grub.cfg";
  silverblue.cmdline = text("root=UUID=1 ostree=/ostree/boot.1/fedora/a1/0\n");
  expect_tool(silverblue, CommandLineTool::rpm_ostree);
  EXPECT_TRUE(is_image_based(silverblue));
  EXPECT_FALSE(find_initramfs_tool(silverblue).known());
  silverblue.programs.erase("rpm-ostree");
  expect_none(silverblue, "no rpm-ostree");
}

TEST(BootTools, a_fedora_that_only_installed_rpm_ostree_is_no_image) {
  BootTraces fedora = traces("fedora", {"grubby", "grub2-mkconfig", "rpm-ostree", "dracut"});
  fedora.default_grub = true;
  fedora.grub_config = "/boot/grub2/grub.cfg";
  fedora.cmdline = text("root=UUID=1 ro rhgb quiet\n");
  expect_tool(fedora, CommandLineTool::grubby);
  EXPECT_FALSE(is_image_based(fedora));
}

TEST(BootTools, a_read_only_usr_is_an_image) {
  BootTraces micro = ubuntu();
  micro.mounts = text("/dev/sda2 / btrfs ro,relatime 0 0\n/dev/sda2 /etc btrfs rw 0 0\n");
  EXPECT_TRUE(is_image_based(micro));
  expect_none(micro, "read-only");
  micro.mounts = text("/dev/sda2 / btrfs rw,relatime,errors=remount-ro 0 0\n");
  EXPECT_FALSE(is_image_based(micro));
}

TEST(BootTools, proxmox_boot_tool_only_where_it_has_partitions) {
  BootTraces proxmox = ubuntu();
  proxmox.programs["proxmox-boot-tool"] = "/usr/sbin/proxmox-boot-tool";
  proxmox.programs["pveversion"] = "/usr/bin/pveversion";
  proxmox.proxmox = true;
  expect_tool(proxmox, CommandLineTool::update_grub);
  proxmox.proxmox_esps = true;
  proxmox.kernel_cmdline = true;
  proxmox.efi = true;
  expect_tool(proxmox, CommandLineTool::proxmox_boot_tool);
}

TEST(BootTools, proxmox_boot_tool_with_grub_reads_another_file_and_is_refused) {
  BootTraces proxmox = ubuntu();
  proxmox.programs["proxmox-boot-tool"] = "/usr/sbin/proxmox-boot-tool";
  proxmox.proxmox = true;
  proxmox.proxmox_esps = true;
  proxmox.kernel_cmdline = true;
  expect_none(proxmox, "GRUB");  // Not booted by EFI.
  proxmox.efi = true;
  proxmox.loader_info = text("GRUB 2.12");
  expect_none(proxmox, "/etc/default/grub");
}

TEST(BootTools, the_firmware_says_which_of_two_loaders_booted) {
  BootTraces both = with_systemd_boot(ubuntu());
  expect_none(both, "LoaderInfo");
  both.loader_info = text("systemd-boot 257.5");
  expect_tool(both, CommandLineTool::systemd_boot);
  both.loader_info = text("GRUB 2.12");
  expect_tool(both, CommandLineTool::update_grub);
  both.loader_info = Text();
  both.efi_variables = true;  // systemd-boot would have left its name.
  expect_tool(both, CommandLineTool::update_grub);
  both.efi_variables = false;
  both.efi = false;  // Not booted by EFI: systemd-boot cannot have been it.
  expect_tool(both, CommandLineTool::update_grub);
}

TEST(BootTools, systemd_boot_alone_needs_loader_entries) {
  BootTraces arch = with_systemd_boot(traces("arch", {"mkinitcpio", "bootctl"}));
  expect_tool(arch, CommandLineTool::systemd_boot);
  arch.entries.clear();
  expect_none(arch, "unified kernel images");
}

TEST(BootTools, loaders_that_are_not_known_are_named_and_left_alone) {
  BootTraces cachy = ubuntu();
  cachy.other_loader = "/boot/limine.conf";
  const auto tool = find_command_line_tool(cachy);
  ASSERT_FALSE(tool.known());
  EXPECT_EQ(tool.source().path, "/boot/limine.conf");
  BootTraces limine = traces("arch", {});
  limine.loader_info = text("Limine 10.2.1");
  expect_none(limine, "Limine 10.2.1");
  expect_none(traces("alpine", {}), "neither GRUB");
}

TEST(BootTools, kernelstub_needs_its_configuration) {
  BootTraces pop = with_systemd_boot(traces("pop ubuntu debian", {"kernelstub"}));
  expect_tool(pop, CommandLineTool::systemd_boot);
  pop.kernelstub = true;
  expect_tool(pop, CommandLineTool::kernelstub);
}

TEST(BootTools, initramfs_by_the_tool_that_the_system_calls) {
  const auto tool = [](const BootTraces& given) {
    const auto found = find_initramfs_tool(given);
    return found ? std::string(to_string(*found)) : "none";
  };
  EXPECT_EQ(tool(traces("debian", {"dracut", "update-initramfs"})), "update-initramfs");
  BootTraces arch = traces("arch", {"dracut", "mkinitcpio"});
  EXPECT_EQ(tool(arch), "dracut");
  arch.preset = true;
  EXPECT_EQ(tool(arch), "mkinitcpio");
  EXPECT_EQ(tool(traces("arch", {"mkinitcpio"})), "mkinitcpio");
  EXPECT_EQ(tool(traces("gentoo", {})), "none");
}

TEST(BootTools, the_mount_of_a_path_is_the_innermost_and_last) {
  const char* mounts =
      "/dev/sda2 / ext4 rw 0 0\n"
      "systemd-1 /boot autofs rw 0 0\n"
      "/dev/sda1 /boot vfat rw 0 0\n"
      "/dev/sdb1 /mnt/a\\040b xfs rw 0 0\n"
      "broken line\n";
  EXPECT_EQ(find_mount(mounts, "/boot/grub/grubenv")->type, "vfat");
  EXPECT_EQ(find_mount(mounts, "/bootstrap")->type, "ext4");
  EXPECT_EQ(find_mount(mounts, "/mnt/a b/c")->type, "xfs");
  EXPECT_EQ(find_mount("", "/boot"), std::nullopt);
}

TEST(BootTools, grub_writes_only_to_plain_partitions) {
  const auto writable = [](const std::string& mount) {
    const auto fact = find_grubenv_writable(text(mount + "\n"), "/boot/grub/grubenv");
    return fact && *fact;
  };
  EXPECT_TRUE(writable("/dev/nvme0n1p2 / ext4 rw 0 0"));
  EXPECT_TRUE(writable("/dev/nvme0n1p2 /boot xfs rw 0 0"));
  EXPECT_FALSE(writable("/dev/nvme0n1p2 / btrfs rw 0 0"));
  EXPECT_FALSE(writable("rpool/ROOT/pve-1 / zfs rw 0 0"));
  EXPECT_FALSE(writable("/dev/mapper/vg-root / ext4 rw 0 0"));
  EXPECT_FALSE(writable("/dev/dm-0 / ext4 rw 0 0"));
  EXPECT_FALSE(writable("/dev/md127 /boot ext4 rw 0 0"));
  EXPECT_FALSE(writable("overlay / overlay rw 0 0"));
  EXPECT_FALSE(find_grubenv_writable(text("/dev/sda1 / ext4 rw 0 0\n"), "").known());
  EXPECT_EQ(find_grubenv_writable(Text(Missing{Why::no_permission, ""}, {}), "/boot/grub/grubenv")
                .missing()
                .why,
            Why::no_permission);
}

TEST(BootTools, kernels_newest_first) {
  std::vector<std::string> versions = {
      "6.8.12-9-pve", "6.14.0-36-generic", "6.8.12-15-pve", "6.14.0-37-generic", "6.12.0-rc5",
      "6.12.0",       "6.12.0-1-default",  "5.4.0"};
  sort_newest_first(versions);
  EXPECT_THAT(versions,
              ElementsAre("6.14.0-37-generic", "6.14.0-36-generic", "6.12.0-1-default", "6.12.0",
                          "6.12.0-rc5", "6.8.12-15-pve", "6.8.12-9-pve", "5.4.0"));
  EXPECT_FALSE(is_older("6.1", "6.1"));
  EXPECT_TRUE(is_older("6.99999999999999999999", "6.100000000000000000000"));
}

TEST(BootTools, presets_name_their_image) {
  EXPECT_EQ(preset_image("PRESETS=('default')\n#default_image=\"/no\"\n"
                         "default_image=\"/boot/initramfs-linux.img\" # note\n"),
            "/boot/initramfs-linux.img");
  EXPECT_EQ(preset_image("default_image='/boot/a b.img'\n"), "/boot/a b.img");
  EXPECT_EQ(preset_image("default_uki=\"/efi/EFI/Linux/arch-linux.efi\"\n"), "");
}

TEST(BootTools, variables_of_the_firmware_are_utf_16) {
  using namespace std::string_literals;
  EXPECT_EQ(decode_efi_text("\x06\0\0\0G\0R\0U\0B\0 \0002\0\0\0rest"s), "GRUB 2");
  EXPECT_EQ(decode_efi_text("\x06\0\0\0\xe4\0x\0"s), "?x");
  EXPECT_EQ(decode_efi_text(""), "");
  EXPECT_EQ(decode_efi_text("\x06\0\0\0G"s), "");
}

TEST(BootSetup, files_are_found_by_their_name_and_by_their_links) {
  BootSetup setup;
  setup.files.push_back({"/etc/dotfiles/grub", "A=1\n"});
  setup.links["/etc/default/grub"] = "/etc/dotfiles/grub";
  ASSERT_NE(setup.file("/etc/default/grub"), nullptr);
  EXPECT_EQ(setup.file("/etc/default/grub")->text, "A=1\n");
  EXPECT_EQ(setup.file("/etc/default/grub.d/a.cfg"), nullptr);
}

}  // namespace
}  // namespace headroom::facts
