// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/trial_boot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/boot/grub_menu.h"
#include "plan/boot/setup_for_test.h"
#include "plan/boot/trial_block.h"

namespace headroom::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* ubuntu_config = R"(
### BEGIN /etc/grub.d/00_header ###
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="0"
fi
function recordfail {
  set recordfail=1
}
### END /etc/grub.d/00_header ###
### BEGIN /etc/grub.d/10_linux ###
menuentry 'Ubuntu' --class ubuntu --class gnu-linux $menuentry_id_option 'gnulinux-simple-8e2b' {
	recordfail
	savedefault
	load_video
	gfxmode $linux_gfx_mode
	if [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi
	search --no-floppy --fs-uuid --set=root 8e2b
	linux	/boot/vmlinuz-6.14.0-37-generic root=UUID=8e2b ro  quiet splash ttm.pages_limit=1 $vt_handoff
	initrd	/boot/initrd.img-6.14.0-37-generic
}
submenu 'Advanced options for Ubuntu' $menuentry_id_option 'gnulinux-advanced-8e2b' {
	menuentry 'Ubuntu, with Linux 6.14.0-37-generic' --class ubuntu --unrestricted $menuentry_id_option 'gnulinux-6.14.0-37-generic-advanced-8e2b' {
		linux	/boot/vmlinuz-6.14.0-37-generic root=UUID=8e2b ro quiet
	}
	menuentry 'It'\''s a > sign' {
		linuxefi	/boot/vmlinuz-old
	}
}
### END /etc/grub.d/10_linux ###
### BEGIN /etc/grub.d/30_uefi-firmware ###
menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {
	fwsetup
}
### END /etc/grub.d/30_uefi-firmware ###
### BEGIN /etc/grub.d/41_custom ###
if [ -f  ${config_directory}/custom.cfg ]; then
  source ${config_directory}/custom.cfg
fi
### END /etc/grub.d/41_custom ###
)";

const ArgumentChange limit{{"ttm.pages_limit=9"}, {"quiet"}};

TestSetup with_config(const std::string& config = ubuntu_config) {
  TestSetup setup = ubuntu();
  setup.add("/boot/grub/grub.cfg", config);
  return setup;
}

Step permanent() {
  return {StepKind::kernel_argument,
          "permanent",
          "",
          Command{{"update-grub"}, {}, {}, {}, {}},
          {},
          true};
}

std::string custom_after(const TestSetup& setup) {
  const BootSteps steps = with_grub_trial(setup.subject(), limit, {permanent()});
  const auto files = files_after(setup, steps.steps);
  const auto found = files.find("/boot/grub/custom.cfg");
  return found == files.end() ? "" : found->second;
}

TEST(grub_menu, reads_entries_submenus_and_ids) {
  const auto menu = parse_grub_menu(ubuntu_config);
  ASSERT_EQ(menu.size(), 3U);
  EXPECT_EQ(menu[0].title, "Ubuntu");
  EXPECT_EQ(menu[0].id, "gnulinux-simple-8e2b");
  EXPECT_THAT(menu[0].options, ElementsAre("--class", "ubuntu", "--class", "gnu-linux"));
  ASSERT_EQ(menu[1].entries.size(), 2U);
  EXPECT_EQ(menu[1].entries[1].title, "It's a > sign");
  EXPECT_EQ(menu[2].id, "uefi-firmware");
}

TEST(grub_menu, finds_the_default_by_number_title_and_id) {
  const auto menu = parse_grub_menu(ubuntu_config);
  EXPECT_EQ(find_default_choice(ubuntu_config), "0");
  EXPECT_EQ(find_menu_entry(menu, "0"), &menu[0]);
  EXPECT_EQ(find_menu_entry(menu, "Ubuntu"), &menu[0]);
  EXPECT_EQ(find_menu_entry(menu, "1>0"), &menu[1].entries[0]);
  EXPECT_EQ(find_menu_entry(menu, "gnulinux-advanced-8e2b>It's a >> sign"), &menu[1].entries[1]);
  EXPECT_EQ(find_menu_entry(menu, "1"), nullptr);  // A submenu starts nothing.
  EXPECT_EQ(find_menu_entry(menu, "7"), nullptr);
  EXPECT_EQ(find_menu_entry(menu, "0>0"), nullptr);
  EXPECT_EQ(find_menu_entry(menu, ""), nullptr);
}

TEST(grub_menu, a_broken_file_is_no_menu) {
  for (const char* text : {"menuentry {", "menuentry 'x {", "submenu 'a' {\nmenuentry 'b' {\n", "}",
                           "menuentry 'x' --id {"}) {
    const auto menu = parse_grub_menu(text);
    find_menu_entry(menu, "0>0");
    find_default_choice(text);
  }
  EXPECT_FALSE(edit_menu_body("\tlinux\n", limit));
  EXPECT_FALSE(edit_menu_body("\tchainloader /x\n", limit));
}

TEST(trial_boot, copies_the_default_entry_with_the_new_words) {
  EXPECT_EQ(custom_after(with_config()),
            "# headroom trial: taken out again by headroom confirm or headroom undo\n"
            "menuentry 'Trial by headroom: Ubuntu' --class ubuntu --class gnu-linux --id "
            "headroom-trial {\n"
            "\trecordfail\n"
            "\tload_video\n"
            "\tgfxmode $linux_gfx_mode\n"
            "\tif [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi\n"
            "\tsearch --no-floppy --fs-uuid --set=root 8e2b\n"
            "\tlinux\t/boot/vmlinuz-6.14.0-37-generic root=UUID=8e2b ro splash ttm.pages_limit=9 "
            "$vt_handoff\n"
            "\tinitrd\t/boot/initrd.img-6.14.0-37-generic\n"
            "}\n"
            "# end of headroom trial\n");
}

TEST(trial_boot, chooses_it_once_and_leaves_the_permanent_change_to_confirm) {
  const TestSetup setup = with_config();
  const BootSteps steps = with_grub_trial(setup.subject(), limit, {permanent()});
  EXPECT_THAT(command_lines(steps.steps), ElementsAre("grub-reboot headroom-trial"));
  EXPECT_THAT(command_lines(steps.on_confirm), ElementsAre("update-grub"));
  EXPECT_EQ(steps.fallback, BootFallback::next_boot);
  const auto& choose = std::get<Command>(steps.steps.back().action);
  EXPECT_TRUE(choose.edits.empty());  // GRUB writes the block itself: that is no reason to refuse.
  EXPECT_THAT(choose.generates, ElementsAre("/boot/grub/grubenv"));
  EXPECT_THAT(choose.undo,
              ElementsAre("grub-editenv", "/boot/grub/grubenv", "unset", "next_entry"));
  auto files = files_after(setup, steps.steps);
  files = files_after(setup, steps.on_confirm, files);
  EXPECT_EQ(files.at("/boot/grub/custom.cfg"), "(gone)");
}

TEST(trial_boot, what_custom_cfg_holds_stays) {
  TestSetup setup = with_config();
  const std::string mine = "menuentry 'Mine' {\n  chainloader /x\n}";
  setup.add("/boot/grub/custom.cfg", mine);
  const BootSteps steps = with_grub_trial(setup.subject(), limit, {permanent()});
  auto files = files_after(setup, steps.steps);
  EXPECT_THAT(files.at("/boot/grub/custom.cfg"), testing::StartsWith(mine + "\n# headroom trial"));
  files = files_after(setup, steps.on_confirm, files);
  EXPECT_EQ(files.at("/boot/grub/custom.cfg"), mine);
}

TEST(trial_boot, a_block_of_an_earlier_change_is_replaced) {
  const std::string block = make_trial_block({"A", "", {}, "", false, {}}, "\tlinux /a\n");
  const std::string other = make_trial_block({"B", "", {}, "", false, {}}, "\tlinux /b\n");
  EXPECT_EQ(with_trial_block("x\n" + block + "y\n", other), "x\ny\n" + other);
  EXPECT_EQ(without_trial_block("x\n" + block + "y"), "x\ny");
  EXPECT_EQ(without_trial_block("# headroom trial, my notes\n"), "# headroom trial, my notes\n");
}

TEST(trial_boot, a_title_with_quotes_is_quoted) {
  EXPECT_THAT(make_trial_block({"It's $x", "", {"--users", "a b"}, "", false, {}}, ""),
              HasSubstr(R"(menuentry 'Trial by headroom: It'\''s $x' --users 'a b' --id)"));
}

TEST(trial_boot, follows_the_saved_default_into_a_submenu) {
  std::string config = ubuntu_config;
  config.replace(config.find("set default=\"0\""), 15, "set default=\"${saved_entry}\"");
  TestSetup setup = with_config(config);
  setup.add("/boot/grub/grubenv",
            "# GRUB Environment Block\nsaved_entry=gnulinux-advanced-8e2b>gnulinux-6.14.0-37-"
            "generic-advanced-8e2b\n########");
  EXPECT_THAT(custom_after(setup), HasSubstr("Ubuntu, with Linux 6.14.0-37-generic' --class ubuntu "
                                             "--unrestricted --id"));
}

TEST(trial_boot, says_why_there_is_none_and_changes_at_once) {
  const auto why = [](const TestSetup& setup) {
    const BootSteps steps = with_grub_trial(setup.subject(), limit, {permanent()});
    EXPECT_THAT(command_lines(steps.steps), ElementsAre("update-grub"));
    EXPECT_TRUE(steps.on_confirm.empty());
    EXPECT_EQ(steps.fallback, BootFallback::by_hand);
    EXPECT_THAT(steps.rescue, testing::Contains(HasSubstr("{id}")));
    return steps.notes.at(0);
  };
  TestSetup setup = with_config();
  setup.trial = false;
  EXPECT_THAT(why(setup), HasSubstr("asked for without"));
  setup = with_config();
  setup.boot.grubenv_writable = {false, {"/proc/mounts", 1, "/boot is btrfs"}};
  EXPECT_THAT(why(setup), HasSubstr("/boot is btrfs"));
  setup = with_config();
  setup.boot.programs.clear();
  EXPECT_THAT(why(setup), HasSubstr("grub-reboot"));
  EXPECT_THAT(why(ubuntu()), HasSubstr("could not be read"));
  EXPECT_THAT(why(with_config("set default=0\nmenuentry 'x' {\nlinux /a\n}\n")),
              HasSubstr("chosen for one boot"));
  std::string config = ubuntu_config;
  config.replace(config.find("set default=\"0\""), 15, "set default=\"2\"");
  EXPECT_THAT(why(with_config(config)), HasSubstr("no line that starts Linux"));
  config.replace(config.find("set default=\"2\""), 15, "set default=\"9\"");
  EXPECT_THAT(why(with_config(config)), HasSubstr("default entry was not found"));
}

constexpr const char* fedora_entry =
    "title Fedora Linux (6.17.9-200.fc42.x86_64) 42 (Workstation Edition)\n"
    "version 6.17.9-200.fc42.x86_64\n"
    "linux /vmlinuz-6.17.9-200.fc42.x86_64\n"
    "initrd /initramfs-6.17.9-200.fc42.x86_64.img\n"
    "options root=UUID=0f5e ro rhgb quiet\n"
    "grub_users $grub_users\n"
    "grub_arg --unrestricted\n";

TEST(loader_entry_trial, copies_the_saved_entry_to_the_end_of_the_menu) {
  TestSetup setup = fedora();
  const std::string path = "/boot/loader/entries/5f1c-6.17.9-200.fc42.x86_64.conf";
  setup.add(path, fedora_entry);
  setup.add("/boot/loader/entries/5f1c-0-rescue.conf", "title rescue\nlinux /vmlinuz-0-rescue\n");
  setup.add("/boot/grub2/grubenv", "saved_entry=5f1c-6.17.9-200.fc42.x86_64\nboot_success=1\n###");
  const BootSteps steps = with_loader_entry_trial(setup.subject(), limit, {permanent()});
  const auto files = files_after(setup, steps.steps);
  const std::string& entry = files.at("/boot/loader/entries/5f1c-0-headroomtrial.conf");
  EXPECT_THAT(entry, HasSubstr("title Trial by headroom: Fedora Linux (6.17.9"));
  EXPECT_THAT(entry, HasSubstr("\noptions root=UUID=0f5e ro rhgb ttm.pages_limit=9\n"));
  EXPECT_THAT(entry, HasSubstr("\ngrub_arg --unrestricted\n"));
  EXPECT_THAT(command_lines(steps.steps), ElementsAre("grub2-reboot 5f1c-0-headroomtrial"));
  EXPECT_EQ(files_after(setup, steps.on_confirm, files)
                .at("/boot/loader/entries/5f1c-0-headroomtrial.conf"),
            "(gone)");
}

// Fedora with one kernel, and what GRUB starts when nobody chooses.
BootSteps fedora_trial(const std::string& environment, const std::string& config = "",
                       const std::string& id = "5f1c-6.17.9-200.fc42.x86_64") {
  TestSetup setup = fedora();
  setup.add("/boot/loader/entries/" + id + ".conf", fedora_entry);
  setup.add("/boot/loader/entries/windows.conf", "title Windows\nefi /EFI/bootmgfw.efi\n");
  setup.add("/boot/grub2/grubenv", environment);
  if (!config.empty()) setup.add("/boot/grub2/grub.cfg", config);
  return with_loader_entry_trial(setup.subject(), limit, {permanent()});
}

TEST(loader_entry_trial, there_is_none_where_the_copy_could_be_the_default) {
  for (const char* saved : {"1", "2", "0x1", "5f1c-6.11.4-301.fc41.x86_64", "gone", "windows",
                            "5f1c-0-headroomtrial"}) {
    const BootSteps steps = fedora_trial("saved_entry=" + std::string(saved) + "\n###");
    EXPECT_THAT(command_lines(steps.steps), ElementsAre("update-grub")) << saved;
    EXPECT_TRUE(steps.on_confirm.empty()) << saved;
    EXPECT_EQ(steps.fallback, BootFallback::by_hand) << saved;
    EXPECT_THAT(steps.notes.at(0), HasSubstr("default is " + std::string(saved)));
    EXPECT_THAT(steps.rescue, testing::Contains(HasSubstr("GRUB's menu")));
  }
  EXPECT_EQ(fedora_trial("", "set default=\"2\"\n").fallback, BootFallback::by_hand);
}

TEST(loader_entry_trial, where_the_first_entry_is_the_default_the_copy_must_come_behind_it) {
  for (const char* environment : {"", "saved_entry=\n", "saved_entry=0\n"}) {
    EXPECT_EQ(fedora_trial(environment).fallback, BootFallback::next_boot) << environment;
    for (const char* id : {"fedora", "fedora-mine", "fedora-mine-1", "5f1c-0-rescue"}) {
      const BootSteps steps = fedora_trial(environment, "", id);
      EXPECT_EQ(steps.fallback == BootFallback::by_hand, !steps.steps.empty()) << id;
      EXPECT_TRUE(steps.on_confirm.empty()) << id;
    }
  }
}

TEST(loader_entry_trial, the_default_is_what_the_header_of_grub_cfg_says) {
  const std::string config =
      "set default=\"${next_entry}\"\nset default=\"${saved_entry}\"\n"
      "### END /etc/grub.d/00_header ###\n"
      "### BEGIN /etc/grub.d/08_fallback_counting ###\nset default=1\n";
  const BootSteps steps = fedora_trial("saved_entry=5f1c-6.17.9-200.fc42.x86_64\n", config);
  EXPECT_EQ(steps.fallback, BootFallback::next_boot);
}

TEST(loader_entry_trial, writes_out_what_grubs_variable_holds) {
  TestSetup setup = fedora();
  setup.add("/boot/loader/entries/5f1c-6.17.9-200.fc42.x86_64.conf",
            "title X\nversion 6.17.9-200.fc42.x86_64\nlinux /vmlinuz\noptions $kernelopts "
            "$tuned_params\n");
  setup.add("/boot/grub2/grubenv", "kernelopts=root=/dev/sda ro quiet\n####");
  const BootSteps steps = with_loader_entry_trial(setup.subject(), limit, {permanent()});
  EXPECT_THAT(files_after(setup, steps.steps).at("/boot/loader/entries/5f1c-0-headroomtrial.conf"),
              HasSubstr("options root=/dev/sda ro $tuned_params ttm.pages_limit=9\n"));
}

}  // namespace
}  // namespace headroom::plan
