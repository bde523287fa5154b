// SPDX-License-Identifier: Apache-2.0
#include "report/time_report.h"

#include <gtest/gtest.h>

#include "base/document.h"

namespace headroom::report {
namespace {

TEST(TimeText, has_as_much_precision_as_a_prediction) {
  EXPECT_EQ(time_to_text(0), "less than 1 ms");
  EXPECT_EQ(time_to_text(0.0042), "4.2 ms");
  EXPECT_EQ(time_to_text(0.83), "830 ms");
  EXPECT_EQ(time_to_text(3.14), "3.1 s");
  EXPECT_EQ(time_to_text(75), "75 s");
  EXPECT_EQ(time_to_text(150), "2.5 min");
  EXPECT_EQ(time_to_text(3000), "50 min");
  EXPECT_EQ(time_to_text(20000), "5.6 hours");
  EXPECT_EQ(time_to_text(86400.0 * 11), "11 days");
}

TEST(TimeText, beyond_a_year_nobody_counts) {
  EXPECT_EQ(time_to_text(86400.0 * 366), "more than a year");
  EXPECT_EQ(time_to_text(1e300), "more than a year");
}

JobTime known() {
  JobTime time;
  time.concerns = true;
  time.estimate = estimate::TimeEstimate{};
  time.estimate->step = {0.83, 0.7, 1.0};
  time.estimate->epochs = 4;
  time.estimate->calibrated = "2026-01-01T00:00:00Z";
  return time;
}

TEST(TimeReport, shows_steps_epochs_and_their_ranges) {
  JobTime time = known();
  time.estimate->epoch = estimate::Seconds{30, 25, 36};
  time.estimate->steps_per_epoch = 36;
  time.estimate->runs = 1;
  EXPECT_EQ(to_text(time, Style{}),
            "\nHow long it takes on this machine (calibrated 2026-01-01T00:00:00Z, corrected by 1 "
            "run):\n"
            "  a step                              830 ms   700 ms to 1.0 s\n"
            "  an epoch of 36 steps                  30 s   25 s to 36 s\n"
            "  all 4 epochs                       2.0 min   100 s to 2.4 min\n");
}

TEST(TimeReport, where_nothing_is_known_one_line_says_how_to_know) {
  JobTime time;
  EXPECT_EQ(to_text(time, Style{}), "");
  time.concerns = true;
  time.missing = "this machine was not measured";
  time.next = "headroom test --calibrate";
  EXPECT_EQ(to_text(time, Style{}),
            "\nHow long it takes is not known: this machine was not measured; next: "
            "headroom test --calibrate\n");
  Json missing = Json::object();
  EXPECT_TRUE(to_json(time, missing).is_null());
  EXPECT_EQ(missing["/time"], "this machine was not measured");
}

TEST(TimeReport, an_epoch_of_unknown_length_says_why) {
  JobTime time = known();
  time.missing_epoch = "the job names no data";
  Json missing = Json::object();
  const Json json = to_json(time, missing);
  EXPECT_EQ(json["step_s"], 0.83);
  EXPECT_TRUE(json["epoch_s"].is_null());
  EXPECT_EQ(missing["/time/epoch_s"], "the job names no data");
}

}  // namespace
}  // namespace headroom::report
