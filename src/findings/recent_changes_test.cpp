// SPDX-License-Identifier: Apache-2.0
#include "findings/recent_changes.h"

#include <gtest/gtest.h>

namespace headroom::findings {
namespace {

using facts::MachineHistory;
using facts::PackageAction;
using facts::PackageManager;

const knowledge::PackageTable& table() {
  static const knowledge::PackageTable loaded = *knowledge::load_package_table();
  return loaded;
}

facts::PackageChange upgrade(const std::string& time, const std::string& package,
                             const std::string& from = "1", const std::string& to = "2") {
  return {time, package, from, to, PackageAction::upgrade, PackageManager::apt};
}

std::string show(const RecentChanges& recent) {
  std::string text;
  for (const RecentChange& one : recent.changes) {
    text += one.change.time.substr(0, 10) + " " + std::string(to_string(one.kind)) + ": " +
            describe(one.change);
    if (!one.others.empty()) text += " +" + std::to_string(one.others.size());
    text += "\n";
  }
  return text;
}

MachineHistory sample() {
  MachineHistory history;
  history.now = "2026-05-20T12:00:00";
  history.changes = {upgrade("2026-04-01T10:00:00", "linux-firmware"),
                     upgrade("2026-05-08T10:00:00", "rocblas"),
                     upgrade("2026-05-08T10:00:01", "rocm-core", "6.3.2", "6.4.0"),
                     upgrade("2026-05-08T10:00:02", "miopen-hip"),
                     upgrade("2026-05-08T10:00:03", "bash"),
                     {"2026-05-09T09:00:00", "linux-image-6.14.0-37-generic", "", "6.14.0-37.37",
                      PackageAction::install, PackageManager::apt},
                     upgrade("2026-05-18T10:00:00", "libdrm2"),
                     upgrade("2027-01-01T10:00:00", "linux-firmware")};
  return history;
}

TEST(RecentChanges, of_a_days_changes_the_most_telling_package_is_named) {
  const auto recent = find_recent_changes(sample(), table(), "2026-05-10T08:00:00");
  EXPECT_EQ(show(recent),
            "2026-05-09 kernel: linux-image-6.14.0-37-generic 6.14.0-37.37 was installed\n"
            "2026-05-08 rocm: rocm-core from 6.3.2 to 6.4.0 +2\n");
  EXPECT_EQ(recent.until, RecentChanges::Until::first_failure);
}

TEST(RecentChanges, without_a_failure_the_days_end_now_and_the_future_is_left_out) {
  const auto recent = find_recent_changes(sample(), table());
  EXPECT_EQ(recent.until, RecentChanges::Until::now);
  EXPECT_EQ(show(recent),
            "2026-05-18 graphics: libdrm2 from 1 to 2\n"
            "2026-05-09 kernel: linux-image-6.14.0-37-generic 6.14.0-37.37 was installed\n"
            "2026-05-08 rocm: rocm-core from 6.3.2 to 6.4.0 +2\n");
}

TEST(RecentChanges, where_no_clock_is_known_the_newest_change_ends_the_days) {
  MachineHistory history = sample();
  history.now.clear();
  history.changes.pop_back();
  const auto recent = find_recent_changes(history, table());
  EXPECT_EQ(recent.until, RecentChanges::Until::newest_change);
  EXPECT_EQ(recent.changes.size(), 3U);
  EXPECT_TRUE(find_recent_changes({}, table()).changes.empty());
}

TEST(RecentChanges, each_manager_has_its_way_back) {
  struct Row {
    facts::PackageChange change;
    const char* run;
  };
  for (const Row& row :
       {Row{upgrade("2026-05-01T10:00:00", "rocm-core", "6.3", "6.4"),
            "sudo apt install rocm-core=6.3"},
        Row{{"2026-05-01T10:00:00", "amdgpu-dkms", "", "6", PackageAction::install,
             PackageManager::apt},
            "sudo apt remove amdgpu-dkms"},
        Row{{"2026-05-01T10:00:00", "linux", "6.14-1", "6.15-1", PackageAction::upgrade,
             PackageManager::pacman},
            "sudo pacman -U /var/cache/pacman/pkg/linux-6.14-1-*.pkg.tar.zst"},
        Row{{"2026-05-01T10:00:00", "rocblas", "6.3-1", "6.4-1", PackageAction::upgrade,
             PackageManager::dnf},
            "sudo dnf downgrade rocblas-6.3-1"},
        Row{{"2026-05-01T10:00:00", "kernel-core", "", "6.15", PackageAction::install,
             PackageManager::dnf},
            ""},
        Row{{"2026-05-01T10:00:00", "torch", "", "2.9", PackageAction::install,
             PackageManager::pip},
            ""},
        Row{{"2026-05-01T10:00:00", "ttm-cap", "", "20260501T100000Z-ttm-cap",
             PackageAction::install, PackageManager::headroom},
            "sudo headroom undo 20260501T100000Z-ttm-cap"},
        Row{{"2026-05-01T10:00:00", "rocm/pytorch:latest", "rocm/pytorch@sha256:0a",
             "rocm/pytorch@sha256:1b", PackageAction::upgrade, PackageManager::docker},
            "docker image tag rocm/pytorch@sha256:0a rocm/pytorch:latest"},
        Row{{"2026-05-01T10:00:00", "nixos", "generation 1 (25.05)", "generation 2 (25.11)",
             PackageAction::upgrade, PackageManager::nixos},
            "sudo nixos-rebuild switch --rollback"}}) {
    MachineHistory history;
    history.changes = {row.change};
    const auto recent = find_recent_changes(history, table());
    ASSERT_EQ(recent.changes.size(), 1U) << row.change.package;
    ASSERT_TRUE(recent.changes[0].back) << row.change.package;
    EXPECT_EQ(recent.changes[0].back->run, row.run);
    EXPECT_EQ(recent.changes[0].back->text.find('{'), std::string::npos);
  }
}

TEST(RecentChanges, packages_that_changed_together_go_back_together) {
  MachineHistory history;
  history.changes = {
      upgrade("2026-05-01T10:00:00", "rocm-core"),
      {"2026-05-01T10:00:00", "rocm-llvm", "", "2", PackageAction::install, PackageManager::apt}};
  for (int i = 0; i < 20; ++i) {
    history.changes.push_back(upgrade("2026-05-01T10:00:00", "rocm-x" + std::to_string(i)));
  }
  const auto recent = find_recent_changes(history, table());
  ASSERT_EQ(recent.changes.size(), 1U);
  const Step& back = *recent.changes[0].back;
  EXPECT_EQ(std::count(back.run.begin(), back.run.end(), '='), 8) << back.run;
  EXPECT_EQ(back.run.find("llvm"), std::string::npos);
  EXPECT_NE(back.text.find("the same for the other 13 that"), std::string::npos) << back.text;
}

TEST(RecentChanges, what_a_shell_would_take_apart_is_in_no_command) {
  MachineHistory history;
  history.changes = {upgrade("2026-05-01T10:00:00", "rocm-core", "1; reboot", "2")};
  const auto recent = find_recent_changes(history, table());
  ASSERT_EQ(recent.changes.size(), 1U);
  EXPECT_FALSE(recent.changes[0].back);
}

TEST(RecentChanges, a_version_that_leads_to_another_file_is_in_no_command) {
  for (const PackageManager manager :
       {PackageManager::apt, PackageManager::pacman, PackageManager::dnf, PackageManager::zypp}) {
    for (const std::string from : {"/../../../../tmp/evil", "~root", "1:~root", "-x"}) {
      MachineHistory history;
      history.changes = {
          {"2026-05-01T10:00:00", "rocm-core", from, "2", PackageAction::upgrade, manager}};
      const auto recent = find_recent_changes(history, table());
      ASSERT_EQ(recent.changes.size(), 1U);
      EXPECT_FALSE(recent.changes[0].back) << recent.changes[0].back->run;
    }
  }
}

TEST(RecentChanges, the_last_change_that_may_have_brought_the_cause_is_a_step) {
  const auto recent = find_recent_changes(sample(), table(), "2026-05-10T08:00:00");
  LogDiagnosis diagnosis;
  diagnosis.cause.id = "rocm-version-mismatch";
  diagnosis.cause.fix = {sentence("do this"), command("sudo reboot"), look("headroom check")};
  add_last_change(recent, table(), diagnosis);
  ASSERT_EQ(diagnosis.cause.fix.size(), 4U);
  EXPECT_EQ(diagnosis.cause.fix[1].whole(),
            "Last changed: rocm-core from 6.3.2 to 6.4.0, with 2 more, on 2026-05-08. To go back: "
            "put the older version back (apt list --all-versions rocm-core says whether it can "
            "still be had): sudo apt install rocm-core=6.3.2 miopen-hip=1 rocblas=1");
  diagnosis.cause.id = "job-too-big";
  add_last_change(recent, table(), diagnosis);
  EXPECT_EQ(diagnosis.cause.fix.size(), 4U);
}

TEST(RecentChanges, the_first_failure_with_a_date_counts) {
  knowledge::Signature works, fails;
  works.id = "works";
  works.role = knowledge::Role::progress;
  fails.id = "fails";
  logs::Observations log;
  const auto add = [&](const knowledge::Signature& kind, const char* time) {
    logs::Observation one;
    one.signature = &kind;
    one.time = time;
    log.add(one);
  };
  EXPECT_EQ(first_failure_moment(log, "2026-05-20T12:00:00"), "");
  add(works, "2026-05-01 10:00:00");
  add(fails, "2743.942606");
  add(fails, "May 10 08:00:00");
  add(fails, "2026-05-11T08:00:00");
  EXPECT_EQ(first_failure_moment(log, "2026-05-20T12:00:00"), "2026-05-10T08:00:00");
  // Of clocks that were not set, or are wrong.
  add(fails, "1970-01-01T00:00:07");
  add(fails, "2099-01-01T00:00:07");
  EXPECT_EQ(first_failure_moment(log, "2026-05-20T12:00:00"), "2026-05-10T08:00:00");
}

}  // namespace
}  // namespace headroom::findings
