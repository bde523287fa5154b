// SPDX-License-Identifier: Apache-2.0
// The page of a training run, from values made by hand: every end, hostile names, and its size.
#include "report/run_html.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"
#include "report/chart_axis.h"
#include "report/series_svg.h"

namespace headroom::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

RunHistory history_of(std::uint64_t steps) {
  RunHistoryReader reader;
  for (std::uint64_t step = 1; step <= steps; ++step)
    reader.add(
        fmt::format("{{\"step\":{0},\"loss\":{1},\"tokens\":10,\"tokens_per_s\":{2},"
                    "\"step_s\":1,\"elapsed_s\":{0},\"live_peak_bytes\":{3},"
                    "\"reserved_peak_bytes\":{4}}}\n",
                    step, 5.0 / static_cast<double>(step), 100 + step % 7, 40 * mib, 44 * mib));
  return reader.finish();
}

Json report_of(std::uint64_t steps) {
  return {{"schema", "headroom.train/1"},
          {"completed", true},
          {"steps", steps},
          {"tokens_per_s", 101.5},
          {"evaluation", nullptr},
          {"predicted", {{"allocated_bytes", 41 * mib}, {"components", {{"weights", 41 * mib}}}}},
          {"measured",
           {{"allocated_bytes", 40 * mib},
            {"reserved_bytes", 44 * mib},
            {"capacity_bytes", 64 * mib},
            {"components", {{"weights", 30 * mib}, {"logits", 10 * mib}}}}},
          {"oom_events", Json::array()},
          {"settings", {{"method", "full"}, {"attention", "math"}, {"dtype", "fp32"}}},
          {"missing", Json::object()}};
}

std::string page_of(const Json& report, const RunHistory& history, const std::string& ended = "") {
  return to_html({.name = "tiny", .report = report, .history = history, .ended = ended});
}

TEST(RunPage, shows_loss_memory_and_speed_with_the_plan_and_the_cap) {
  const std::string page = page_of(report_of(6), history_of(6));
  EXPECT_THAT(page, AllOf(HasSubstr("Finished after 6 steps."), HasSubstr("id=\"loss\""),
                          HasSubstr("id=\"memory\""), HasSubstr("id=\"speed\""),
                          HasSubstr("plan 41.0 MiB"), HasSubstr("cap 64.0 MiB")));
  EXPECT_THAT(page, AllOf(HasSubstr("40.0 MiB, planned 41.0 MiB"), HasSubstr("+2.5 %"),
                          HasSubstr("prefers-color-scheme: dark"), HasSubstr("<details>")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("http")), Not(HasSubstr("nan")), Not(HasSubstr("inf<"))));
}

TEST(RunPage, says_why_a_run_ended_early_and_what_to_do) {
  const Json report = report_of(3);
  const RunHistory history = history_of(3);
  const std::string page = to_html({.name = "tiny",
                                    .report = report,
                                    .history = history,
                                    .ended = "the loss of step 4 is not a finite number",
                                    .next = "lower optimizer.learning_rate"});
  EXPECT_THAT(page, AllOf(HasSubstr("Ended early, after 3 steps."),
                          HasSubstr("the loss of step 4 is not a finite number"),
                          HasSubstr("Next: lower optimizer.learning_rate")));
}

TEST(RunPage, marks_what_ran_out_of_memory_and_how_it_went_on) {
  Json report = report_of(6);
  report["oom_events"] = {{{"step", 3}, {"done_again_with", 2}, {"message", "live: <b>"}},
                          {{"step", 6}, {"message", "nothing fits"}}};
  const std::string page = page_of(report, history_of(6), "out of memory");
  EXPECT_THAT(
      page, AllOf(HasSubstr("class=\"mark mark-oom\""),
                  HasSubstr("step 3: out of memory; done again with 2 samples at once"),
                  HasSubstr("step 6: out of memory; the run ended"), HasSubstr("live: &lt;b&gt;")));
}

TEST(RunPage, shows_what_auto_took_and_why_not_the_others) {
  Json report = report_of(6);
  const Json tried = {{"dtype", "fp32"}, {"attention", "math"},   {"loss", "eager"},
                      {"micro", 4},      {"device_bytes", mib},   {"checkpointing", "none"},
                      {"accumulate", 2}, {"relative_speed", 1.0}, {"fits", true}};
  Json slower = tried, larger = tried, equal = tried;
  slower["relative_speed"] = 0.71;
  larger["fits"] = false;
  equal["relative_speed"] = 0.995;
  report["automatic"] = {
      {"keys", {"batch.micro"}}, {"chosen", tried}, {"rejected", {equal, slower, larger}}};
  const std::string page = page_of(report, history_of(6));
  EXPECT_THAT(
      page, AllOf(HasSubstr("The job left open: batch.micro."), HasSubstr("the fastest that fits"),
                  HasSubstr("fits, but is slower: 71 % of the speed"),
                  HasSubstr("does not fit within 64.0 MiB"), HasSubstr("about as fast")));
}

TEST(RunPage, nothing_in_it_becomes_markup) {
  const std::string evil = "</script><script>alert(1)</script>\"&<b>";
  Json report = report_of(2);
  report["settings"]["method"] = evil;
  report["settings"][evil] = evil;
  report["missing"][evil] = evil;
  report["oom_events"] = {{{"step", 1}, {"message", evil}}};
  report["automatic"] = {{"keys", {evil}},
                         {"chosen", {{"dtype", evil}, {"fits", true}}},
                         {"rejected", {{{"loss", evil}, {"fits", nullptr}}}}};
  const RunHistory history = history_of(2);
  const std::string page =
      to_html({.name = evil, .report = report, .history = history, .ended = evil, .next = evil});
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<script>alert")), Not(HasSubstr("<b>"))));
  EXPECT_THAT(page, HasSubstr("alert(1)"));
}

TEST(RunPage, a_report_of_other_types_than_expected_makes_a_page_all_the_same) {
  const RunHistory none = RunHistoryReader().finish();
  for (const char* text :
       {"{}", "[]", "null", "{\"settings\": 3, \"measured\": [1], \"oom_events\": {\"a\": 1}}",
        "{\"predicted\": {\"stages\": 7, \"allocated_bytes\": -5}, \"automatic\": {\"chosen\": 1}}",
        "{\"ranks\": [1, {\"rank\": \"x\"}], \"missing\": {\"/a\": {}}, \"steps\": 1e30}"}) {
    const Json report = *parse_json(text);
    EXPECT_THAT(page_of(report, none), HasSubstr("No step was finished.")) << text;
  }
}

TEST(RunPage, of_several_ranks_says_what_each_took) {
  Json report = report_of(2);
  report["ranks"] = {{{"rank", 0}, {"allocated_bytes", 40 * mib}, {"reserved_bytes", 44 * mib}},
                     {{"rank", 1}, {"allocated_bytes", 20 * mib}, {"reserved_bytes", 24 * mib}}};
  EXPECT_THAT(page_of(report, history_of(2)),
              AllOf(HasSubstr("<h2>Ranks</h2>"), HasSubstr("20.0 MiB"), HasSubstr("24.0 MiB")));
}

TEST(RunPage, its_size_does_not_grow_with_the_run) {
  Json report = report_of(50'000);
  const Json event = {{"step", 3}, {"message", std::string(100, 'x')}};
  for (int i = 0; i < 1000; ++i) report["oom_events"].push_back(event);
  const std::string page = page_of(report, history_of(50'000));
  EXPECT_LT(page.size(), std::size_t{512} << 10U);
  EXPECT_THAT(page, HasSubstr("900 more are in report.json."));
}

TEST(SeriesSvg, values_that_hardly_differ_and_that_are_far_apart_have_an_axis) {
  for (const auto& [one, other] :
       {std::pair{0.0, 0.0}, {1e17, 1e17}, {1e17, 1e17 + 64}, {-1e18, 1e18}, {1e-12, 2e-12}}) {
    ThinnedCurve curve;
    curve.add(1, one);
    curve.add(2, other);
    const std::string svg =
        to_svg({.id = "a", .title = "b", .last_step = 2, .series = {{"c", "train", curve}}});
    EXPECT_THAT(svg,
                AllOf(HasSubstr("class=\"curve"), Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
    EXPECT_LT(svg.size(), 6000U);
  }
}

TEST(SeriesSvg, a_level_far_above_is_said_and_not_drawn) {
  ThinnedCurve curve;
  curve.add(1, 1000);
  const SeriesChart chart{.id = "a",
                          .title = "b",
                          .amount = Amount::bytes,
                          .last_step = 1,
                          .series = {{"live", "live", curve}},
                          .levels = {{"cap", "capacity", 1e12}},
                          .from_zero = true};
  EXPECT_THAT(to_svg(chart),
              AllOf(HasSubstr("above this picture"), Not(HasSubstr("class=\"level"))));
}

TEST(ChartAxis, numbers_have_round_lines_five_at_most) {
  for (const double span : {1e-9, 0.3, 1.0, 1.01, 7.0, 49.0, 51.0, 1e18}) {
    const double step = number_step(span);
    EXPECT_LE(span / step, 5.0001) << span;
    EXPECT_GT(span / step, 1.9) << span;
  }
}

}  // namespace
}  // namespace headroom::report
