// SPDX-License-Identifier: Apache-2.0
#include "facts/package_history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

std::string show(const std::vector<PackageChange>& changes) {
  std::string text;
  for (const PackageChange& one : changes) {
    text += one.time + " " + std::string(to_string(one.action)) + " " + one.package + " [" +
            one.from + "] [" + one.to + "]\n";
  }
  return text;
}

TEST(PackageHistory, apt_lists_have_both_versions) {
  EXPECT_EQ(show(parse_apt_history(
                "Start-Date: 2026-05-01  10:00:07\nCommandline: apt upgrade\n"
                "Install: linux-image-6.14.0-37-generic:amd64 (6.14.0-37.37, automatic)\n"
                "Upgrade: linux-firmware:amd64 (20240318, 20250317), libdrm2:amd64 (1, 2)\n"
                "Remove: rocm-core:amd64 (6.3.0)\nEnd-Date: 2026-05-01  10:01:00\n")),
            "2026-05-01T10:00:07 install linux-image-6.14.0-37-generic [] [6.14.0-37.37]\n"
            "2026-05-01T10:00:07 upgrade linux-firmware [20240318] [20250317]\n"
            "2026-05-01T10:00:07 upgrade libdrm2 [1] [2]\n"
            "2026-05-01T10:00:07 remove rocm-core [6.3.0] []\n");
}

TEST(PackageHistory, dpkg_states_and_triggers_are_no_changes) {
  EXPECT_EQ(show(parse_dpkg_log("2026-05-01 10:00:00 startup archives unpack\n"
                                "2026-05-01 10:00:01 upgrade mesa:amd64 1.0 1.1\n"
                                "2026-05-01 10:00:02 status installed mesa:amd64 1.1\n"
                                "2026-05-01 10:00:03 install rocm:all <none> 6.4\n"
                                "2026-05-01 10:00:04 remove hip:amd64 6.3 <none>\n")),
            "2026-05-01T10:00:01 upgrade mesa [1.0] [1.1]\n"
            "2026-05-01T10:00:03 install rocm [] [6.4]\n"
            "2026-05-01T10:00:04 remove hip [6.3] []\n");
}

TEST(PackageHistory, pacman_times_may_lack_seconds_and_zone) {
  EXPECT_EQ(show(parse_pacman_log(
                "[2026-05-01T10:00:00+0200] [ALPM] transaction started\n"
                "[2026-05-01T10:00:01+0200] [ALPM] upgraded rocblas (6.3.2-1 -> 6.4.0-1)\n"
                "[2019-05-01 09:30] [ALPM] installed linux (5.0-1)\n"
                "[2026-05-01T10:00:02+0200] [ALPM-SCRIPTLET] installed x (1)\n")),
            "2026-05-01T10:00:01 upgrade rocblas [6.3.2-1] [6.4.0-1]\n"
            "2019-05-01T09:30:00 install linux [] [5.0-1]\n");
}

TEST(PackageHistory, both_lines_of_a_dnf_upgrade_are_one_change) {
  EXPECT_EQ(
      show(parse_dnf_rpm_log(
          "2026-05-01T10:00:00+0200 INFO --- logging initialized ---\n"
          "2026-05-01T10:00:01+0200 SUBDEBUG Upgrade: amd-gpu-firmware-20250311-1.fc41.noarch\n"
          "2026-05-01T10:00:02+0200 SUBDEBUG Installed: kernel-6.14.0-1.fc41.x86_64\n"
          "2026-05-01T10:00:03+0200 SUBDEBUG Upgraded: amd-gpu-firmware-20250211-1.fc41.noarch\n"
          "2026-05-01T10:00:04+0200 SUBDEBUG Erase: hipcc-18-1.fc41.x86_64\n")),
      "2026-05-01T10:00:01 upgrade amd-gpu-firmware [20250211-1.fc41] [20250311-1.fc41]\n"
      "2026-05-01T10:00:02 install kernel [] [6.14.0-1.fc41]\n"
      "2026-05-01T10:00:04 remove hipcc [18-1.fc41] []\n");
}

TEST(PackageHistory, what_dnf5_replaces_in_one_transaction_is_one_change) {
  EXPECT_EQ(
      show(parse_dnf5_log(
          "2026-05-01T08:00:00+0000 [815] INFO RPM callback transaction start, total 6\n"
          "2026-05-01T08:00:01+0000 [815] INFO RPM callback open file \"/x-1-1.fc43.x86_64.rpm\"\n"
          "2026-05-01T08:00:01+0000 [815] INFO RPM callback install start "
          "\"amd-gpu-firmware-0:20250311-1.fc43.noarch\" total 9084\n"
          "2026-05-01T08:00:02+0000 [815] INFO RPM callback install start "
          "\"kernel-core-0:6.14.0-1.fc43.x86_64\" total 3\n"
          "2026-05-01T08:00:03+0000 [815] INFO RPM callback install start "
          "\"mesa-1:25.0-1.fc43.x86_64\" total 3\n"
          "2026-05-01T08:00:04+0000 [815] INFO RPM callback uninstall start "
          "\"amd-gpu-firmware-0:20250211-1.fc43.noarch\" total 2\n"
          "2026-05-01T08:00:04+0000 [815] INFO RPM callback uninstall start "
          "\"mesa-1:25.1-1.fc43.x86_64\" total 2\n"
          "2026-05-01T08:00:05+0000 [815] INFO RPM callback uninstall start "
          "\"kernel-core-0:6.11.0-1.fc43.x86_64\" total 2\n"
          "2026-05-02T08:00:00+0000 [816] INFO RPM callback transaction start, total 1\n"
          "2026-05-02T08:00:01+0000 [816] INFO RPM callback uninstall start "
          "\"amd-gpu-firmware-0:20250311-1.fc43.noarch\" total 2\n")),
      "2026-05-01T08:00:01 upgrade amd-gpu-firmware [20250211-1.fc43] [20250311-1.fc43]\n"
      "2026-05-01T08:00:02 install kernel-core [] [6.14.0-1.fc43]\n"
      "2026-05-01T08:00:03 downgrade mesa [1:25.1-1.fc43] [1:25.0-1.fc43]\n"
      "2026-05-01T08:00:05 remove kernel-core [6.11.0-1.fc43] []\n"
      "2026-05-02T08:00:01 remove amd-gpu-firmware [20250311-1.fc43] []\n");
}

TEST(PackageHistory, zypp_writes_remove_with_a_blank) {
  EXPECT_EQ(
      show(parse_zypp_history("# 2026-05-01 10:00:00 kernel-default installed ok\n"
                              "2026-05-01 10:00:00|install|kernel-default|6.14-1|x86_64||r|c|\n"
                              "2026-05-01 10:00:01|remove |hip|6.3-1|x86_64|root@box|\n")),
      "2026-05-01T10:00:00 install kernel-default [] [6.14-1]\n"
      "2026-05-01T10:00:01 remove hip [6.3-1] []\n");
}

TEST(PackageHistory, zypp_replaces_what_it_installed_before) {
  EXPECT_EQ(show(parse_zypp_history("2026-05-01 10:00:00|install|Mesa|1.0|x86_64||r|c|\n"
                                    "2026-05-02 10:00:00|install|Mesa|1.1|x86_64||r|c|\n"
                                    "2026-05-03 10:00:00|remove |Mesa|1.1|x86_64|root@box|\n"
                                    "2026-05-04 10:00:00|install|Mesa|1.2|x86_64||r|c|\n")),
            "2026-05-01T10:00:00 install Mesa [] [1.0]\n"
            "2026-05-02T10:00:00 upgrade Mesa [1.0] [1.1]\n"
            "2026-05-03T10:00:00 remove Mesa [1.1] []\n"
            "2026-05-04T10:00:00 install Mesa [] [1.2]\n");
}

TEST(PackageHistory, of_too_many_changes_the_last_are_kept) {
  std::string pacman, dnf;
  constexpr int lines = 130'000;  // Fewer bytes than a parser looks at.
  for (int i = 0; i < lines; ++i) {
    pacman += fmt::format("[2026-05-01 10:00] [ALPM] installed a ({})\n", i);
    dnf += fmt::format("2026-05-01T10:00 D Upgrade: a{}-1-1.x\n", i);
  }
  const auto of_pacman = parse_pacman_log(pacman);
  EXPECT_LE(of_pacman.size(), 2 * most_history_changes);
  EXPECT_EQ(of_pacman.back().to, "129999");
  const auto of_dnf = parse_dnf_rpm_log(dnf);
  EXPECT_EQ(of_dnf.size(), most_history_changes);
  EXPECT_EQ(of_dnf.back().package, "a129999");
}

TEST(PackageHistory, only_the_end_of_a_longer_log_is_looked_at) {
  const std::string first = "[2026-05-01 10:00] [ALPM] installed first (1)\n";
  const std::string last = "[2026-05-01 10:00] [ALPM] installed last (1)\n";
  const std::string log = first + std::string(most_history_bytes, '\n') + last;
  ASSERT_EQ(parse_pacman_log(log).size(), 1U);
  EXPECT_EQ(parse_pacman_log(log)[0].package, "last");
}

TEST(PackageHistory, what_is_no_history_gives_no_change) {
  const std::string zeros(100000, '\0');
  for (const std::string& text :
       {zeros, std::string("Upgrade: a (1, 2"),
        std::string("Start-Date: 2026-02-31  10:00:00\n"
                    "Upgrade: a (1, 2)\n"),
        std::string("Start-Date: 2026-05-01  99:00:00\nUpgrade: a (1, 2)\n"),
        std::string("||||||\n[] [ALPM] \n] [ALPM] upgraded\n- - :: .\n")}) {
    EXPECT_TRUE(parse_apt_history(text).empty());
    EXPECT_TRUE(parse_dpkg_log(text).empty());
    EXPECT_TRUE(parse_pacman_log(text).empty());
    EXPECT_TRUE(parse_dnf_rpm_log(text).empty());
    EXPECT_TRUE(parse_dnf5_log(text).empty());
    EXPECT_TRUE(parse_zypp_history(text).empty());
  }
}

TEST(PackageHistory, selects_the_days_before_a_moment_newest_first) {
  const std::vector<PackageChange> changes = {{"2026-04-10T10:00:00", "old", "", "1"},
                                              {"2026-04-30T10:00:00", "first", "", "1"},
                                              {"2026-05-01T10:00:00", "second", "", "1"},
                                              {"2026-05-01T12:00:01", "after", "", "1"}};
  EXPECT_EQ(show(select_changes(changes, "2026-05-01T12:00:00", 14)),
            "2026-05-01T10:00:00 install second [] [1]\n"
            "2026-04-30T10:00:00 install first [] [1]\n");
  EXPECT_TRUE(select_changes(changes, "yesterday", 14).empty());
}

}  // namespace
}  // namespace headroom::facts
