// SPDX-License-Identifier: Apache-2.0
#include "report/changes_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace headroom::report {
namespace {

using findings::RecentChange;
using findings::RecentChanges;
using knowledge::PackageKind;

RecentChange change(const std::string& time, const std::string& package) {
  RecentChange one;
  one.change = {time, package, "1", "2", facts::PackageAction::upgrade, facts::PackageManager::apt};
  one.kind = PackageKind::rocm;
  return one;
}

std::string shown(const RecentChanges& recent) {
  const Style style;
  return fit(changes_text(recent, style), style.width);
}

RecentChanges sample() {
  RecentChanges recent;
  recent.moment = "2026-05-10T08:00:00";
  recent.until = RecentChanges::Until::first_failure;
  recent.sources = {{facts::PackageManager::apt, "/var/log/apt/history.log", ""}};
  recent.changes = {change("2026-05-09T10:00:00", "rocm-core"),
                    change("2026-05-08T10:00:00", "rocblas")};
  recent.changes[0].others = {change("2026-05-09T10:00:00", "miopen-hip").change,
                              change("2026-05-09T10:00:00", "rccl").change};
  recent.changes[0].back = findings::sentence_with("put it back", "sudo apt install rocm-core=1");
  recent.changes[1].back = findings::sentence("choose the older kernel");
  return recent;
}

TEST(ChangesReport, each_change_says_when_what_and_how_to_go_back) {
  EXPECT_EQ(shown(sample()),
            "\nChanged in the 14 days before the first failure (2026-05-10)\n"
            "  2026-05-09  ROCm       rocm-core from 1 to 2, and 2 more packages\n"
            "                         to go back: sudo apt install rocm-core=1\n"
            "  2026-05-08  ROCm       rocblas from 1 to 2\n"
            "                         to go back: choose the older kernel\n");
}

TEST(ChangesReport, a_screenful_is_shown_and_the_rest_counted) {
  RecentChanges recent = sample();
  for (int i = 0; i < 20; ++i) recent.changes.push_back(change("2026-05-01T10:00:00", "rocm"));
  const std::string text = shown(recent);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 22);
  EXPECT_NE(text.find("  and 14 older changes, listed by --json\n"), std::string::npos) << text;
  EXPECT_EQ(changes_json(recent)["list"].size(), 22U);
}

TEST(ChangesReport, no_change_is_said_only_where_a_failure_is_dated) {
  RecentChanges recent = sample();
  recent.changes.clear();
  EXPECT_NE(shown(recent).find("nothing that a GPU job"), std::string::npos);
  recent.until = RecentChanges::Until::now;
  EXPECT_EQ(shown(recent), "");
  recent.until = RecentChanges::Until::first_failure;
  recent.sources[0].why_not = "no permission";
  EXPECT_EQ(shown(recent), "");
}

TEST(ChangesReport, what_was_not_read_has_its_reason) {
  RecentChanges recent = sample();
  recent.sources.push_back({facts::PackageManager::dnf, "/x.sqlite", "a database"});
  EXPECT_NE(shown(recent).find("  not read: /x.sqlite (a database)\n"), std::string::npos);
  const auto document = changes_json(recent);
  EXPECT_EQ(document["histories"][1]["why_not"], "a database");
  EXPECT_TRUE(document["histories"][0]["why_not"].is_null());
}

TEST(ChangesReport, a_command_is_never_folded) {
  RecentChanges recent = sample();
  std::string command = "sudo apt install";
  for (int i = 0; i < 20; ++i) command += " package-number-" + std::to_string(i) + "=1";
  recent.changes[0].back = findings::sentence_with("put it back", command);
  EXPECT_NE(shown(recent).find("to go back: " + command + "\n"), std::string::npos);
}

TEST(ChangesReport, packages_cannot_control_the_terminal) {
  RecentChanges recent = sample();
  recent.changes[0].change.package = "rocm\x1b[2J";
  EXPECT_EQ(shown(recent).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace headroom::report
