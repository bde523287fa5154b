// SPDX-License-Identifier: Apache-2.0
// The picture of a step made by hand, held against a file: HEADROOM_UPDATE_GOLDEN=1 rewrites it.
#include "report/timeline_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allocator/models/exact_policy.h"
#include "base/document.h"
#include "support/golden.h"

namespace headroom::report {
namespace {

using allocator::Component;
using estimate::Phase;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

estimate::Timeline small_step() {
  estimate::Recorder recorder;
  const auto mebibytes = [](std::uint64_t count) {
    return estimate::Meta{{count * mib}, estimate::Element::uint8};
  };
  recorder.enter(Phase::load);
  recorder.allocate("weight", 0, mebibytes(40), Component::weights);
  recorder.enter(Phase::forward);
  const auto hidden = recorder.allocate("a<b>", 0, mebibytes(30), Component::activations);
  const auto logits = recorder.allocate("logits", 0, mebibytes(25), Component::logits);
  recorder.enter(Phase::backward);
  recorder.release(logits);
  recorder.allocate("weight.grad", 0, mebibytes(20), Component::gradients);
  recorder.release(hidden);
  recorder.enter(Phase::optimizer);
  recorder.allocate("mean", 0, mebibytes(20), Component::optimizer);
  allocator::ExactPolicy policy(1000 * mib);
  return make_timeline(recorder.take(), policy, 100);
}

Chart chart_of(const estimate::Timeline& timeline) {
  Chart chart{timeline, "step", "A step made by hand", 128 * mib, 10 * mib};
  return chart;
}

TEST(TimelineSvg, looks_as_it_did_when_it_was_last_looked_at) {
  const estimate::Timeline timeline = small_step();
  EXPECT_TRUE(headroom::testing::matches_golden(
      HEADROOM_SOURCE_DIR "/tests/plan_page/expected/step.svg", to_svg(chart_of(timeline))));
}

TEST(TimelineSvg, marks_the_peak_and_the_tensor_that_made_it) {
  const estimate::Timeline timeline = small_step();
  EXPECT_THAT(to_svg(chart_of(timeline)), HasSubstr("peak 95.0 MiB: logits"));
}

TEST(TimelineSvg, a_capacity_far_above_is_said_and_not_drawn) {
  const estimate::Timeline timeline = small_step();
  Chart chart = chart_of(timeline);
  chart.capacity_bytes = std::uint64_t{1} << 40U;
  const std::string svg = to_svg(chart);
  EXPECT_THAT(svg, HasSubstr("above this picture"));
  EXPECT_THAT(svg, Not(HasSubstr("class=\"capacity\"")));
}

TEST(TimelineSvg, of_nothing_is_a_picture_that_says_so) {
  const estimate::Timeline empty;
  const std::string svg = to_svg(chart_of(empty));
  EXPECT_THAT(svg, HasSubstr("Nothing is allocated."));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(TimelineSvg, the_points_for_the_pointer_are_those_of_the_timeline) {
  const estimate::Timeline timeline = small_step();
  const Json data = hover_data(chart_of(timeline));
  ASSERT_EQ(data["points"].size(), timeline.points.size());
  const Json& peak = data["points"][timeline.peak];
  EXPECT_EQ(peak[1], "forward");
  EXPECT_EQ(data["names"][peak[2].get<std::size_t>()], "logits");
  EXPECT_EQ(peak[5], 95 * mib);
}

}  // namespace
}  // namespace headroom::report
