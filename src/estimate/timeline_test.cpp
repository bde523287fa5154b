// SPDX-License-Identifier: Apache-2.0
// A timeline loses no peak however few points it has, and says what a replay says.
#include "estimate/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "allocator/models/exact_policy.h"
#include "allocator/models/make_policy.h"
#include "base/document.h"
#include "estimate/plan.h"
#include "estimate/step.h"

namespace headroom::estimate {
namespace {

constexpr Bytes plentiful{std::uint64_t{1} << 40U};

Meta bytes(std::uint64_t count) {
  return {{count}, Element::uint8};
}

// Loads 1024 bytes; then steps with these peaks, each reached by one short-lived tensor. Policies
// round to 512 bytes.
Recording steps_with_peaks(const std::vector<std::uint64_t>& peaks) {
  Recorder recorder;
  recorder.enter(Phase::load);
  const auto weight = recorder.allocate("weight", 0, bytes(1024), Component::weights);
  for (const std::uint64_t peak : peaks) {
    recorder.enter(Phase::forward);
    const auto saved = recorder.allocate("saved", 0, bytes(512), Component::activations);
    const auto brief = recorder.allocate("brief", 0, bytes(peak - 1536), Component::logits);
    recorder.release(brief);
    recorder.enter(Phase::backward);
    recorder.release(saved);
    recorder.enter(Phase::optimizer);
    recorder.release(recorder.allocate("update", 0, bytes(10), Component::workspace));
  }
  recorder.release(weight);
  return recorder.take();
}

Timeline timeline_of(const Recording& recording, std::size_t buckets) {
  allocator::ExactPolicy policy(plentiful.value);
  return make_timeline(recording, policy, buckets);
}

std::vector<Phase> phases_of(const Timeline& timeline) {
  std::vector<Phase> phases;
  for (const PhaseSpan& span : timeline.phases) phases.push_back(span.phase);
  return phases;
}

Result<Architecture> tiny_model() {
  HEADROOM_TRY(const Json config, parse_json(R"({"model_type": "llama", "hidden_size": 64,
      "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4,
      "num_key_value_heads": 2, "vocab_size": 300})"));
  return parse_architecture(config);
}

Job tiny_job() {
  Job job;
  job.compute.attention = Attention::math;
  job.batch.micro = 2;
  job.batch.sequence = 64;
  return job;
}

TEST(Timeline, shows_loading_and_the_last_step_with_a_gap_between) {
  const Timeline timeline = timeline_of(steps_with_peaks({5120, 6144, 5632}), 100);
  EXPECT_EQ(phases_of(timeline),
            (std::vector<Phase>{Phase::load, Phase::forward, Phase::backward, Phase::optimizer}));
  // The step of 6144 had the most live: it is the one worth seeing.
  EXPECT_EQ(timeline.points[timeline.peak].live_bytes, 6144U);
  EXPECT_TRUE(timeline.phases[1].after_gap);
  EXPECT_FALSE(timeline.phases[2].after_gap);
  EXPECT_EQ(timeline.points[timeline.peak].tensor, "brief");
  EXPECT_EQ(timeline.phases.back().end, timeline.events);
}

TEST(Timeline, of_equal_steps_the_last_is_shown_and_the_end_of_the_program_is_not) {
  const Timeline timeline = timeline_of(steps_with_peaks({5120, 5120}), 100);
  // Loading is 1 event; a step has 4 that change memory and the optimizer's allocation.
  EXPECT_EQ(timeline.events, 6U);
  EXPECT_TRUE(timeline.phases[1].after_gap);
  EXPECT_EQ(timeline.points.back().phase, Phase::optimizer);
  EXPECT_TRUE(timeline.points.back().allocates);
}

TEST(Timeline, one_step_follows_loading_without_a_gap) {
  const Timeline timeline = timeline_of(steps_with_peaks({5120}), 100);
  for (const PhaseSpan& span : timeline.phases) EXPECT_FALSE(span.after_gap);
}

TEST(Timeline, thinning_keeps_the_peak_and_the_highest_and_lowest_of_every_piece) {
  const auto model = tiny_model();
  ASSERT_TRUE(model);
  const auto recording = record_step(tiny_job(), *model, Device{});
  ASSERT_TRUE(recording);
  const Timeline full = timeline_of(*recording, recording->events.size());
  for (const std::size_t buckets : {1, 2, 7, 50, 300}) {
    const Timeline thin = timeline_of(*recording, buckets);
    EXPECT_LE(thin.points.size(), 2 * (buckets + 2));
    EXPECT_EQ(thin.points[thin.peak].live_bytes, full.points[full.peak].live_bytes);
    EXPECT_EQ(thin.points[thin.peak].event, full.points[full.peak].event);
    EXPECT_EQ(thin.events, full.events);
    EXPECT_TRUE(std::is_sorted(thin.points.begin(), thin.points.end(),
                               [](const auto& a, const auto& b) { return a.event < b.event; }));
  }
}

TEST(Timeline, components_add_up_at_every_point) {
  const auto model = tiny_model();
  ASSERT_TRUE(model);
  const auto timeline = find_timeline(tiny_job(), *model, Device{}, 200);
  ASSERT_TRUE(timeline);
  for (const TimelinePoint& point : timeline->points) {
    std::uint64_t sum = 0;
    for (const Component component : allocator::all_components) sum += point.live[component];
    EXPECT_EQ(sum, point.live_bytes);
    EXPECT_GE(point.reserved_bytes, point.live_bytes);
    EXPECT_LE(point.reserved_bytes, timeline->reserved_peak_bytes);
  }
}

TEST(Timeline, says_what_the_plan_says) {
  const auto model = tiny_model();
  ASSERT_TRUE(model);
  Device device;
  for (const std::optional<Bytes> capacity :
       {std::optional<Bytes>{}, std::optional<Bytes>{1_GiB}, std::optional<Bytes>{4_MiB}}) {
    device.capacity = capacity;
    const auto plan = make_plan(tiny_job(), *model, device);
    ASSERT_TRUE(plan) << plan.error().message;
    const auto timeline = find_timeline(plan->job, *model, device, 40);
    ASSERT_TRUE(timeline);
    const TimelinePoint& peak = timeline->points[timeline->peak];
    EXPECT_EQ(peak.live_bytes, plan->allocated_bytes);
    EXPECT_EQ(timeline->reserved_peak_bytes, plan->reserved_bytes);
    EXPECT_EQ(peak.live, plan->components);
    EXPECT_EQ(peak.phase, plan->at);
    ASSERT_EQ(timeline->largest.size(), plan->largest.size());
    EXPECT_EQ(timeline->largest.front().name, plan->largest.front().name);
  }
}

TEST(Timeline, ends_where_the_policy_refuses) {
  allocator::ExactPolicy policy(2048);
  const Timeline timeline = make_timeline(steps_with_peaks({5120, 6144}), policy, 10);
  ASSERT_TRUE(timeline.refused);
  EXPECT_EQ(timeline.refused->name, "brief");
  EXPECT_EQ(timeline.points[timeline.peak].live_bytes, 1536U);
}

TEST(Timeline, of_nothing_is_empty) {
  const Timeline timeline = timeline_of(Recording{}, 10);
  EXPECT_TRUE(timeline.points.empty());
  EXPECT_EQ(timeline.events, 0U);
}

}  // namespace
}  // namespace headroom::estimate
