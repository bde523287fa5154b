// SPDX-License-Identifier: Apache-2.0
#include "report/step_path.h"

#include <gtest/gtest.h>

namespace headroom::report {
namespace {

TEST(StepPath, a_rise_of_one_event_is_drawn_a_unit_wide) {
  StepPath path;
  path.add(0, 100);
  path.add(50, 10);
  path.add(50.02, 100);
  EXPECT_EQ(path.finish(90), "M0.0 100.0H50.0V10.0H51.0V100.0H90.0");
}

TEST(StepPath, a_fall_that_a_reader_can_see_stays_where_it_is) {
  StepPath path;
  path.add(0, 100);
  path.add(10, 50);
  path.add(30, 100);
  EXPECT_EQ(path.finish(90), "M0.0 100.0H10.0V50.0H30.0V100.0H90.0");
}

TEST(StepPath, what_is_delayed_does_not_add_up) {
  StepPath path;
  path.add(0, 100);
  for (int i = 0; i < 1000; ++i) path.add(i * 0.01, i % 2 == 0 ? 10 : 100);
  path.add(20, 50);
  const std::string drawn = path.finish(90);
  EXPECT_TRUE(drawn.ends_with("H20.0V50.0H90.0")) << drawn.substr(drawn.size() - 60);
  EXPECT_EQ(drawn.find("H12."), std::string::npos);
}

TEST(StepPath, nothing_is_no_path) {
  EXPECT_EQ(StepPath().finish(90), "");
}

}  // namespace
}  // namespace headroom::report
