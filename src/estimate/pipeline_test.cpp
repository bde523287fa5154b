// SPDX-License-Identifier: Apache-2.0
// The schedule by itself: every micro-batch once in each direction, no more held than is said, and
// an order that no set of stages can wait for each other in.
#include "estimate/pipeline.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

namespace headroom::estimate {
namespace {

using Schedules = std::vector<std::vector<StageAction>>;

Schedules all_stages(std::uint32_t stages, std::uint64_t micro_batches) {
  Schedules all;
  for (std::uint32_t stage = 0; stage < stages; ++stage)
    all.push_back(one_forward_one_backward(stage, stages, micro_batches));
  return all;
}

template <class Check>
void for_many(const Check& check) {
  for (std::uint32_t stages = 1; stages <= 7; ++stages) {
    for (std::uint64_t micro_batches = 0; micro_batches <= 12; ++micro_batches) {
      SCOPED_TRACE(std::to_string(stages) + " stages, " + std::to_string(micro_batches));
      check(stages, micro_batches);
    }
  }
}

TEST(OneForwardOneBackward, each_micro_batch_goes_once_each_way_in_order_and_forward_first) {
  for_many([](std::uint32_t stages, std::uint64_t micro_batches) {
    for (const auto& actions : all_stages(stages, micro_batches)) {
      ASSERT_EQ(actions.size(), 2 * micro_batches);
      std::uint64_t forward = 0, backward = 0;
      for (const StageAction& action : actions) {
        std::uint64_t& next = action.pass == StagePass::forward ? forward : backward;
        EXPECT_EQ(action.micro_batch, next++);
        EXPECT_LE(backward, forward);
      }
      EXPECT_EQ(forward, micro_batches);
      EXPECT_EQ(backward, micro_batches);
    }
  });
}

TEST(OneForwardOneBackward, holds_as_many_as_there_are_stages_from_here_on) {
  for_many([](std::uint32_t stages, std::uint64_t micro_batches) {
    const Schedules all = all_stages(stages, micro_batches);
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      std::uint64_t held = 0, most = 0;
      for (const StageAction& action : all[stage]) {
        held += action.pass == StagePass::forward ? 1 : -1;
        most = std::max(most, held);
      }
      EXPECT_EQ(most, most_in_flight(stage, stages, micro_batches));
      EXPECT_EQ(held, 0U);
    }
  });
}

TEST(OneForwardOneBackward, the_last_stage_never_holds_a_second) {
  const auto actions = one_forward_one_backward(3, 4, 3);
  const std::vector<StageAction> expected = {{StagePass::forward, 0}, {StagePass::backward, 0},
                                             {StagePass::forward, 1}, {StagePass::backward, 1},
                                             {StagePass::forward, 2}, {StagePass::backward, 2}};
  EXPECT_EQ(actions, expected);
}

TEST(OneForwardOneBackward, the_first_of_three_starts_two_ahead) {
  const auto actions = one_forward_one_backward(0, 3, 4);
  const std::vector<StageAction> expected = {{StagePass::forward, 0},  {StagePass::forward, 1},
                                             {StagePass::forward, 2},  {StagePass::backward, 0},
                                             {StagePass::forward, 3},  {StagePass::backward, 1},
                                             {StagePass::backward, 2}, {StagePass::backward, 3}};
  EXPECT_EQ(actions, expected);
}

// Stages that run whenever what they wait for is there, and whose neighbours take at most one
// message that is not yet read: all of them come to their end.
TEST(OneForwardOneBackward, no_stages_wait_for_each_other_with_room_for_one_message) {
  for_many([](std::uint32_t stages, std::uint64_t micro_batches) {
    const Schedules all = all_stages(stages, micro_batches);
    std::vector<std::size_t> done(stages);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> sent, read;
    // An action is a read, then a write; what is written waits until there is room.
    std::vector<bool> has_read(stages);
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::uint32_t stage = 0; stage < stages; ++stage) {
        if (done[stage] == all[stage].size()) continue;
        const bool forward = all[stage][done[stage]].pass == StagePass::forward;
        const std::uint32_t from = forward ? stage - 1 : stage + 1;
        const std::uint32_t to = forward ? stage + 1 : stage - 1;
        const bool reads = forward ? stage > 0 : stage + 1 < stages;
        const bool writes = forward ? stage + 1 < stages : stage > 0;
        if (!has_read[stage]) {
          if (reads && read[{from, stage}] == sent[{from, stage}]) continue;
          if (reads) ++read[{from, stage}];
          has_read[stage] = moved = true;
        }
        if (writes && sent[{stage, to}] > read[{stage, to}]) continue;  // The one is still there.
        if (writes) ++sent[{stage, to}];
        has_read[stage] = false;
        ++done[stage];
        moved = true;
      }
    }
    for (std::uint32_t stage = 0; stage < stages; ++stage)
      EXPECT_EQ(done[stage], all[stage].size()) << "stage " << stage;
  });
}

TEST(OneForwardOneBackward, a_few_micro_batches_tell_what_many_need) {
  EXPECT_EQ(telling_micro_batches(0, 2, 100), 4U);
  EXPECT_EQ(telling_micro_batches(1, 2, 100), 3U);
  EXPECT_EQ(telling_micro_batches(0, 4, 2), 2U);
}

}  // namespace
}  // namespace headroom::estimate
