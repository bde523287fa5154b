// SPDX-License-Identifier: Apache-2.0
// The picture of a replay: nothing that matters is thinned away, and nothing becomes markup.
#include "report/replay_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "allocator/models/make_policy.h"
#include "report/replay_html.h"
#include "report/replay_svg.h"

namespace headroom::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

ReplayPicture picture_of(const std::string& text, const std::string& name, std::uint64_t capacity,
                         std::size_t pieces = 100, std::size_t blocks = 100) {
  const auto trace = *allocator::parse_trace(text);
  const auto policy = *allocator::make_policy(name, capacity);
  ReplayRow row;
  row.policy = name;
  row.capacity_bytes = capacity;
  const auto history = allocator::replay_with_history(trace, *policy);
  row.result = history.result;
  return make_replay_picture(row, history, pieces, blocks);
}

// Blocks of 1 MiB that come and go, and at event 2500 one of 30 MiB.
std::string long_trace() {
  std::string text;
  for (int i = 0; i < 2500; ++i) {
    text += "a 1 1048576 0 activations\nf 1\n";
    if (i == 1250) text += "a 2 31457280 0 weights\nf 2\n";
  }
  return text;
}

TEST(ReplayPicture, a_peak_of_one_event_is_in_a_thinned_curve) {
  const ReplayPicture picture = picture_of(long_trace(), "exact", 64 * mib, 20, 10);
  EXPECT_EQ(picture.events, 5002U);
  EXPECT_LE(picture.held.size(), 80U);
  const auto peak = std::max_element(
      picture.held.begin(), picture.held.end(),
      [](const HeldPoint& a, const HeldPoint& b) { return a.live_bytes < b.live_bytes; });
  EXPECT_EQ(peak->live_bytes, 30 * mib);
  EXPECT_EQ(picture.held.front().event, 0U);
  EXPECT_EQ(picture.held.back().event, 5001U);
}

TEST(ReplayPicture, the_largest_blocks_times_events_are_drawn_and_the_page_says_so) {
  const ReplayPicture picture = picture_of(long_trace(), "headroom", 64 * mib, 20, 10);
  ASSERT_EQ(picture.blocks.size(), 10U);
  EXPECT_EQ(picture.all_blocks, 2501U);
  EXPECT_TRUE(
      std::any_of(picture.blocks.begin(), picture.blocks.end(), [](const DrawnBlock& block) {
        return block.tag == allocator::Component::weights && block.bytes == 30 * mib;
      }));
  const std::string page = to_html({"job.trace", 5002, 30 * mib}, std::nullopt, {picture});
  EXPECT_THAT(page, HasSubstr("2491 smaller or shorter ones are not"));
}

TEST(ReplayPicture, addresses_without_blocks_are_left_out) {
  // Two segments of torch's, far from anything: places begin at 0 and follow each other.
  const ReplayPicture picture = picture_of("a 1 31457280\na 2 41943040\n", "torch", 1024 * mib);
  ASSERT_EQ(picture.blocks.size(), 2U);
  EXPECT_EQ(picture.blocks[0].place, 0U);
  EXPECT_EQ(picture.blocks[1].place, 30 * mib);
  EXPECT_EQ(picture.address_bytes, 70 * mib);
  EXPECT_EQ(picture.blocks[0].end, 2U);  // Live at the end: to the last event.
}

TEST(ReplayPicture, blocks_lie_within_the_plot_and_never_on_each_other) {
  std::string text;
  for (int i = 0; i < 60; ++i)
    text += "a " + std::to_string(i) + " " + std::to_string(100'000 * (i % 7 + 1)) + "\n";
  for (int i = 0; i < 60; i += 2) text += "f " + std::to_string(i) + "\n";
  for (int i = 100; i < 130; ++i) text += "a " + std::to_string(i) + " 150000\n";
  for (const std::string& name : allocator::policy_names()) {
    const ReplayPicture picture = picture_of(text, name, 1024 * mib);
    ASSERT_EQ(picture.blocks.size(), 90U);
    for (std::size_t i = 0; i < picture.blocks.size(); ++i) {
      const DrawnBlock& a = picture.blocks[i];
      EXPECT_LE(a.place + a.bytes, picture.address_bytes);
      EXPECT_LT(a.begin, a.end);
      for (std::size_t j = i + 1; j < picture.blocks.size(); ++j) {
        const DrawnBlock& b = picture.blocks[j];
        const bool same_time = a.begin < b.end && b.begin < a.end;
        const bool same_place = a.place < b.place + b.bytes && b.place < a.place + a.bytes;
        EXPECT_FALSE(same_time && same_place) << name;
      }
    }
  }
}

TEST(ReplayPicture, a_refusal_is_marked_where_it_happened) {
  const ReplayPicture picture =
      picture_of("a 1 5000000\na 2 9000000\na 3 1\n", "headroom", 10 * mib);
  EXPECT_EQ(picture.events, 2U);
  EXPECT_THAT(held_svg(picture, "h"), HasSubstr("class=\"refused\""));
  EXPECT_THAT(held_svg(picture, "h"), HasSubstr("refused: 8.6 MiB"));
  EXPECT_THAT(to_html({"t", 3, 1}, std::nullopt, {picture}),
              HasSubstr("It does not fit in 10.0 MiB under 1 of 1 policies."));
}

TEST(ReplayPicture, an_empty_trace_is_a_page_too) {
  const ReplayPicture picture = picture_of("", "headroom", 10 * mib);
  const std::string page = to_html({"t", 0, 0}, std::nullopt, {picture});
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  EXPECT_THAT(page, HasSubstr("</html>"));
}

}  // namespace
}  // namespace headroom::report
