// SPDX-License-Identifier: Apache-2.0
#include "report/tune_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace headroom::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using tune::TuneReport;

tune::Axis axis(const std::string& name, const std::vector<std::string>& values) {
  tune::Axis made;
  made.setting.name = name;
  made.setting.as = deploy::TuneSetting::As::key;
  made.setting.file = "photos.conf";
  made.setting.values = values;
  made.now = 0;
  return made;
}

tune::Tried tried(std::size_t point, std::optional<double> ms, const std::string& why = "") {
  tune::Tried one;
  one.point = point;
  one.ms = ms;
  one.requests = 10;
  one.peak = Bytes{std::uint64_t{100} << 20U};
  one.why = why;
  return one;
}

TuneReport deployed() {
  TuneReport report;
  report.name = "photos";
  report.outcome = tune::Outcome::deployed;
  report.space.axes = {axis("workers", {"1", "2", "4"})};
  report.space.points = {{0}, {1}, {2}};
  report.space.present = 0;
  report.repeat = 20;
  report.starts = 3;
  report.requests = 30;
  report.measurements = 12;
  report.exhaustive = 60;
  report.baseline = {24.0, 26.0};
  report.tried = {tried(1, 9.5), tried(0, 24), tried(2, {}, "crash-loop: it died")};
  report.best = 1;
  report.changes = tune::changes_of(report.space, {1});
  report.deployed.emplace();
  report.deployed->change_id = "20261127T203159Z-deploy-photos";
  return report;
}

TEST(TuneReport, the_fastest_stands_first_and_what_failed_last_with_its_cause) {
  const std::string text = to_text(deployed(), Style{false, 80});
  EXPECT_THAT(text, HasSubstr("photos takes 9.50 ms an item; it took 25.0"));
  EXPECT_LT(text.find("workers = 2"), text.find("workers = 1   (present)"));
  EXPECT_LT(text.find("(present)"), text.find("crash-loop"));
  EXPECT_THAT(text, HasSubstr("set = { keys = { workers = \"2\" } }"));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    EXPECT_LE(display_width(text.substr(at, end - at)), 80U) << text.substr(at, end - at);
    at = end + 1;
  }
}

TEST(TuneReport, json_says_what_was_found_and_what_is_not_known) {
  const auto json = to_json(deployed());
  EXPECT_EQ(json["best"]["workers"], "2");
  EXPECT_EQ(json["baseline_ms"], 25.0);
  EXPECT_EQ(json["best_ms"], 9.5);
  EXPECT_EQ(json["tried"][1]["present"], true);
  EXPECT_TRUE(json["tried"][2]["ms"].is_null());
  EXPECT_EQ(json["change_id"], "20261127T203159Z-deploy-photos");
  EXPECT_TRUE(json["gpu"].is_null());

  TuneReport planned = deployed();
  planned.outcome = tune::Outcome::planned;
  planned.why = "nothing was touched";
  planned.tried.clear();
  planned.best.reset();
  planned.baseline = {};
  const auto before = to_json(planned);
  EXPECT_TRUE(before["best"].is_null());
  EXPECT_EQ(before["missing"]["/best"], "nothing was touched");
  EXPECT_EQ(before["missing"]["/baseline_ms"], "nothing was touched");
}

TEST(TuneReport, the_noise_is_what_two_measurements_of_one_setting_differ_by) {
  TuneReport report = deployed();
  EXPECT_TRUE(tune::is_faster(report));
  report.baseline = {10.0, 9.4};
  EXPECT_FALSE(tune::is_faster(report));  // 9.7 by 9.5 is less than the 6 % between the two.
  report.baseline = {9.9, 9.9};
  EXPECT_TRUE(tune::is_faster(report));
  report.best = report.space.present;
  EXPECT_FALSE(tune::is_faster(report));
}

TEST(TuneReport, the_arithmetic_of_a_gpu_is_shown) {
  TuneReport report = deployed();
  tune::WorthQuestion question;
  question.items_per_day = 36000;
  question.faster = 10;
  question.gpu_price = 500;
  question.electricity = 0.5;
  question.gpu_watts = 200;
  question.cpu_watts = 100;
  question.cpu_watts_source = "--cpu-watts";
  report.worth = tune::worth_of(question, 1000);
  const std::string text = to_text(report, Style{false, 80});
  EXPECT_THAT(text, HasSubstr("36000 items × 1000 ms = 10.00 h a day"));
  EXPECT_THAT(text, HasSubstr("10.00 h / 10 = 1.00 h a day; saved: 9.00 h"));
  EXPECT_THAT(text, HasSubstr("(1.000 - 0.200) kWh × 0.5 = 0.4000 saved a day"));
  EXPECT_THAT(text, HasSubstr("500 / 0.4000 = 1250 days (3.4 years)"));
  EXPECT_EQ(to_json(report)["gpu"]["pays_after_days"], 1250.0);
  report.worth = tune::worth_of(question, 3000);
  EXPECT_THAT(to_text(report, Style{false, 80}), HasSubstr("more than a day has"));
}

TEST(TuneReport, what_a_service_says_does_not_reach_the_terminal_as_it_is) {
  TuneReport report = deployed();
  report.tried.back().why = "\x1b[31mred";
  EXPECT_THAT(to_text(report, Style{false, 80}), Not(HasSubstr("\x1b[31m")));
}

}  // namespace
}  // namespace headroom::report
