// SPDX-License-Identifier: Apache-2.0
// The simulated boot does what boot loaders do, so that a change that would not boot fails here.
#include "support/simulated_boot.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "machine/programs.h"
#include "support/distribution.h"
#include "support/scratch_root.h"

namespace headroom::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

BootOutcome boot(const ScratchRoot& root, bool first_fails = false) {
  auto outcome = simulate_boot(root.path(), first_fails);
  EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
  return outcome ? *std::move(outcome) : BootOutcome{};
}

void run(const ScratchRoot& root, const std::vector<std::string>& argv) {
  const auto programs = machine::make_programs(root.string());
  ASSERT_TRUE(programs.has_value()) << programs.error().message;
  const auto output = (*programs)->run(argv);
  ASSERT_TRUE(output.has_value()) << output.error().message;
  ASSERT_EQ(output->status, 0) << output->text;
}

void replace(const ScratchRoot& root, const std::string& path, const std::string& what,
             const std::string& by) {
  std::string text = root.read(path);
  const std::size_t at = text.find(what);
  ASSERT_NE(at, std::string::npos) << path << " lacks " << what;
  root.write(path, text.replace(at, what.size(), by));
}

std::string parameter(const ScratchRoot& root, const std::string& name) {
  return root.read("/sys/module/ttm/parameters/" + name);
}

constexpr const char* lts_on_arch =
    "gnulinux-advanced-d7b4c0b1-50b5-4f7e-8a9e-0d9d3d1f2c66>"
    "gnulinux-linux-lts-advanced-d7b4c0b1-50b5-4f7e-8a9e-0d9d3d1f2c66";

TEST(SimulatedBoot, an_edit_without_update_grub_changes_nothing) {
  const ScratchRoot root;
  make_distribution("debian-13", root.path());
  replace(root, "/etc/default/grub", "\"quiet\"", "\"quiet ttm.pages_limit=31457280\"");
  EXPECT_THAT(boot(root).command_line, Not(HasSubstr("pages_limit")));
  run(root, {"update-grub"});
  EXPECT_THAT(boot(root).command_line, HasSubstr("ttm.pages_limit=31457280"));
  EXPECT_EQ(parameter(root, "pages_limit"), "31457280\n");
}

TEST(SimulatedBoot, an_option_counts_once_it_is_in_the_initramfs) {
  const ScratchRoot root;
  make_distribution("arch-grub", root.path());
  root.write("/etc/modprobe.d/ttm.conf", "options ttm pages_limit=1000000\n");
  boot(root);
  EXPECT_EQ(parameter(root, "pages_limit"), "16220160\n");
  run(root, {"mkinitcpio", "-P"});
  boot(root);
  EXPECT_EQ(parameter(root, "pages_limit"), "1000000\n");
}

TEST(SimulatedBoot, the_command_line_wins_over_files) {
  const ScratchRoot root;
  make_distribution("fedora-42", root.path());
  root.write("/etc/modprobe.d/ttm.conf", "options ttm pages_limit=1000000\n");
  run(root, {"dracut", "--force", "--regenerate-all"});
  run(root, {"grubby", "--update-kernel=ALL", "--args=ttm.pages_limit=2000000"});
  boot(root);
  EXPECT_EQ(parameter(root, "pages_limit"), "2000000\n");
}

TEST(SimulatedBoot, the_pool_follows_ttm_and_gtt_follows_gttsize) {
  const ScratchRoot root;
  make_distribution("ubuntu-24.04", root.path());
  EXPECT_EQ(root.read("/sys/class/drm/card1/device/mem_info_gtt_total"), "120259084288\n");
  EXPECT_THAT(root.read("/sys/class/kfd/kfd/topology/nodes/1/mem_banks/0/properties"),
              HasSubstr("size_in_bytes 66437775360\n"));
}

TEST(SimulatedBoot, next_entry_holds_for_one_boot) {
  const ScratchRoot root;
  make_distribution("arch-grub", root.path());
  run(root, {"grub-reboot", lts_on_arch});
  EXPECT_EQ(boot(root).kernel, "6.12.58-1-lts");
  EXPECT_EQ(boot(root).kernel, "6.17.8-arch1-1");
  EXPECT_EQ(root.read("/boot/grub/grubenv").size(), 1024U);
}

TEST(SimulatedBoot, next_entry_stays_where_grub_cannot_write) {
  const ScratchRoot root;
  make_distribution("arch-grub", root.path());
  root.write("/.fake/firmware", "grub /boot/grub/grub.cfg / no-write\n");
  run(root, {"grub-reboot", lts_on_arch});
  EXPECT_EQ(boot(root).kernel, "6.12.58-1-lts");
  EXPECT_EQ(boot(root).kernel, "6.12.58-1-lts");
}

TEST(SimulatedBoot, a_failed_trial_comes_back_on_the_default) {
  const ScratchRoot root;
  make_distribution("arch-grub", root.path());
  run(root, {"grub-reboot", lts_on_arch});
  const BootOutcome outcome = boot(root, true);
  EXPECT_EQ(outcome.kernel, "6.17.8-arch1-1");
  EXPECT_THAT(outcome.failed, ::testing::ElementsAre(::testing::StartsWith("gnulinux-linux-lts")));
}

TEST(SimulatedBoot, a_default_that_fails_never_comes_up) {
  const ScratchRoot root;
  make_distribution("debian-13", root.path());
  EXPECT_FALSE(simulate_boot(root.path(), true).has_value());
}

TEST(SimulatedBoot, custom_cfg_adds_entries) {
  const ScratchRoot root;
  make_distribution("debian-13", root.path());
  root.write("/boot/grub/custom.cfg",
             "menuentry 'Trial' --id trial {\n"
             "  linux /boot/vmlinuz-6.16.12+deb13-amd64 root=UUID=1 ro ttm.pages_limit=5\n"
             "  initrd /boot/initrd.img-6.16.12+deb13-amd64\n}\n");
  run(root, {"grub-reboot", "trial"});
  EXPECT_EQ(boot(root).entry, "trial");
  EXPECT_EQ(parameter(root, "pages_limit"), "5\n");
}

TEST(SimulatedBoot, a_damaged_initramfs_or_none_does_not_boot) {
  const ScratchRoot root;
  make_distribution("debian-13", root.path());
  const std::string image = "/boot/initrd.img-6.16.12+deb13-amd64";
  const std::string whole = root.read(image);
  root.write(image, whole.substr(0, whole.size() / 2));
  EXPECT_FALSE(simulate_boot(root.path()).has_value());
  std::filesystem::remove(root.path(image));
  EXPECT_FALSE(simulate_boot(root.path()).has_value());
}

TEST(SimulatedBoot, a_counted_entry_loses_its_counters_when_it_comes_up) {
  const ScratchRoot root;
  make_distribution("arch-systemd-boot", root.path());
  root.write("/boot/loader/loader.conf", "timeout 3\n");
  const std::string entry = root.read("/boot/loader/entries/arch.conf");
  root.write("/boot/loader/entries/trial+2.conf", entry);
  EXPECT_EQ(boot(root).entry, "trial.conf");
  EXPECT_TRUE(root.has("/boot/loader/entries/trial.conf")) << "a good boot ends the counting";
}

TEST(SimulatedBoot, a_counted_entry_that_fails_goes_to_the_end) {
  const ScratchRoot root;
  make_distribution("arch-systemd-boot", root.path());
  root.write("/boot/loader/loader.conf", "timeout 3\n");
  root.write("/boot/loader/entries/trial+2.conf", root.read("/boot/loader/entries/arch.conf"));
  const BootOutcome outcome = boot(root, true);
  EXPECT_THAT(outcome.failed, ::testing::ElementsAre("trial.conf", "trial.conf"));
  EXPECT_EQ(outcome.entry, "arch.conf");
  EXPECT_TRUE(root.has("/boot/loader/entries/trial+0-2.conf"));
}

// A pattern that names a counted entry also names it once it is bad, so counting alone brings
// nobody back (systemd's boot.c, config_find_entry).
TEST(SimulatedBoot, a_default_that_names_a_bad_entry_starts_it) {
  const ScratchRoot root;
  make_distribution("arch-systemd-boot", root.path());
  root.write("/boot/loader/loader.conf", "default trial*\n");
  root.write("/boot/loader/entries/trial+2.conf", root.read("/boot/loader/entries/arch.conf"));
  EXPECT_FALSE(simulate_boot(root.path(), true).has_value());
}

TEST(SimulatedBoot, the_loader_conf_default_wins_over_the_order_of_entries) {
  const ScratchRoot root;
  make_distribution("arch-systemd-boot", root.path());
  root.write("/boot/loader/entries/zzz.conf", root.read("/boot/loader/entries/arch-lts.conf"));
  EXPECT_EQ(boot(root).entry, "arch.conf");
  root.write("/boot/loader/loader.conf", "timeout 3\n");
  EXPECT_EQ(boot(root).entry, "zzz.conf");
  run(root, {"bootctl", "set-oneshot", "arch.conf"});
  EXPECT_EQ(boot(root).entry, "arch.conf");
  EXPECT_EQ(boot(root).entry, "zzz.conf");
}

TEST(SimulatedBoot, rpm_ostree_keeps_the_booted_deployment) {
  const ScratchRoot root;
  make_distribution("bazzite", root.path());
  run(root, {"rpm-ostree", "kargs", "--append-if-missing=ttm.pages_limit=31457280"});
  run(root, {"rpm-ostree", "kargs", "--append-if-missing=ttm.pages_limit=31457280"});
  EXPECT_THAT(root.read("/boot/loader/entries/ostree-1.conf"), Not(HasSubstr("pages_limit")));
  EXPECT_THAT(boot(root).command_line, HasSubstr("ttm.pages_limit=31457280"));
  run(root, {"rpm-ostree", "kargs", "--delete-if-present=ttm.pages_limit=31457280"});
  EXPECT_THAT(boot(root).command_line, Not(HasSubstr("pages_limit")));
}

TEST(SimulatedBoot, kernelstub_and_proxmox_boot_tool_reach_the_esp) {
  const ScratchRoot pop;
  make_distribution("popos", pop.path());
  run(pop, {"kernelstub", "-d", "amdgpu.gttsize=114688", "-a", "ttm.pages_limit=31457280"});
  EXPECT_THAT(boot(pop).command_line,
              ::testing::AllOf(HasSubstr("pages_limit"), Not(HasSubstr("gttsize"))));
  const ScratchRoot proxmox;
  make_distribution("proxmox-zfs", proxmox.path());
  replace(proxmox, "/etc/kernel/cmdline", "quiet", "quiet ttm.pages_limit=31457280");
  run(proxmox, {"update-grub"});
  EXPECT_THAT(boot(proxmox).command_line, Not(HasSubstr("pages_limit")));
  run(proxmox, {"proxmox-boot-tool", "refresh"});
  EXPECT_THAT(boot(proxmox).command_line, HasSubstr("pages_limit"));
}

}  // namespace
}  // namespace headroom::testing
