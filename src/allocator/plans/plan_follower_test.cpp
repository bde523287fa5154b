// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/plan_follower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

namespace headroom::allocator {
namespace {

using Random = std::independent_bits_engine<std::mt19937, 32, std::uint32_t>;

constexpr std::uint64_t granule = 512;

IterationBlock block(std::uint64_t bytes, std::uint32_t dies, StreamId stream = 0) {
  return {bytes, stream, dies};
}

// A follower and the places that it has given out: each new one must lie apart from all of them.
class Follower {
 public:
  // `varies`: every block was smaller as well.
  explicit Follower(const Iteration& iteration, bool varies = false)
      : plan_(std::make_shared<const Plan>(iteration, lay_out(iteration))) {
    if (varies)
      plan_ = std::make_shared<const Plan>(*plan_, std::vector<std::uint64_t>(plan_->size(), 1));
  }

  // The slot of the plan; live slots are known by their numbers here.
  std::optional<std::uint32_t> take(std::uint64_t bytes, StreamId stream = 0) {
    const auto place = follower_.take(bytes, stream);
    if (!place) return place;
    const std::uint64_t begin = follower_.offset(*place);
    const std::uint32_t slot = follower_.next() - 1;
    EXPECT_EQ(begin, follower_.plan()->offset(slot));
    EXPECT_EQ(follower_.size(*place), bytes);
    EXPECT_LE(begin + bytes, follower_.plan()->bytes());
    const auto above = live_.lower_bound(begin);
    EXPECT_TRUE(above == live_.end() || begin + bytes <= above->first) << "overlap";
    if (above != live_.begin()) {
      const auto below = std::prev(above);
      EXPECT_LE(below->first + below->second.bytes, begin) << "overlap";
    }
    live_[begin] = {bytes, *place};
    places_[slot] = *place;
    return slot;
  }
  void give_back(std::uint32_t slot) {
    const auto place = places_.find(slot);
    ASSERT_NE(place, places_.end());
    EXPECT_EQ(live_.erase(follower_.offset(place->second)), 1U);
    follower_.give_back(place->second);
    places_.erase(place);
  }
  void begin() {
    follower_.begin();
    follower_.follow(plan_, 0);
  }
  // Goes on by another plan, made for the same piece.
  void change_to(const Iteration& iteration, std::uint32_t next) {
    plan_ = std::make_shared<const Plan>(iteration, lay_out(iteration));
    follower_.follow(plan_, next);
  }
  void check() const {
    std::vector<std::uint32_t> expected;
    for (const auto& [at, live] : live_) expected.push_back(live.place);
    EXPECT_EQ(follower_.live_places(), expected);
    EXPECT_EQ(follower_.is_idle(), expected.empty());
  }
  PlanFollower& plan() { return follower_; }

 private:
  struct Live {
    std::uint64_t bytes = 0;
    PlanFollower::Place place = 0;
  };

  PlanPointer plan_;
  PlanFollower follower_;
  std::map<std::uint64_t, Live> live_;                   // By offset.
  std::map<std::uint32_t, PlanFollower::Place> places_;  // By slot.
};

Iteration random_iteration(Random& random) {
  Iteration iteration;
  const std::uint32_t count = 20 + random() % 150;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t bytes = (1 + random() % (random() % 3 == 0 ? 500 : 6)) * granule;
    const std::uint32_t dies = std::min(count, i + 1 + random() % (random() % 3 == 0 ? 80 : 4));
    const bool lasts = random() % 25 == 0;
    iteration.push_back(block(bytes, lasts ? IterationBlock::never : dies, random() % 30 == 0));
  }
  return iteration;
}

// Plays the iteration as it was planned; deviations come from `deviate(number)`, which may change
// the request, and from `holds(number)`: that block is freed only an iteration later.
template <class Change, class Hold>
std::uint64_t play(Follower& follower, const Iteration& iteration, Change&& change, Hold&& hold,
                   std::vector<std::uint32_t>& held) {
  std::uint64_t planned = 0;
  std::vector<std::optional<std::uint32_t>> slots(iteration.size());
  std::vector<std::uint32_t> late;
  for (std::uint32_t now = 0; now <= iteration.size(); ++now) {
    for (std::uint32_t i = 0; i < now; ++i) {
      if (iteration[i].dies != now || !slots[i]) continue;
      if (hold(i))
        late.push_back(*slots[i]);
      else
        follower.give_back(*slots[i]);
      slots[i].reset();
    }
    if (now == iteration.size()) break;
    change(now, [&](std::uint64_t bytes, StreamId stream) {
      if (slots[now]) return;  // An extra one has had its place.
      slots[now] = follower.take(bytes, stream);
      planned += slots[now] ? 1 : 0;
    });
  }
  for (const std::uint32_t slot : held) follower.give_back(slot);
  held = late;
  return planned;
}

std::uint64_t placed_blocks(const Plan& plan) {
  std::uint64_t count = 0;
  for (std::uint32_t i = 0; i < plan.size(); ++i)
    count += plan.offset(i) != Layout::nowhere ? 1 : 0;
  return count;
}

TEST(PlanFollower, in_order_every_block_gets_its_slot) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    const Iteration iteration = random_iteration(random);
    Follower follower(iteration);
    std::vector<std::uint32_t> held;
    for (int round = 0; round < 3; ++round) {
      follower.begin();
      const std::uint64_t planned = play(
          follower, iteration,
          [&](std::uint32_t i, auto&& ask) {
            EXPECT_TRUE(follower.plan().expects(iteration[i].bytes, iteration[i].stream));
            ask(iteration[i].bytes, iteration[i].stream);
          },
          [](std::uint32_t /*i*/) { return false; }, held);
      EXPECT_EQ(planned, placed_blocks(*follower.plan().plan()));
      EXPECT_TRUE(follower.plan().is_idle());
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << "with seed " << seed;
  }
}

// Other sizes, missing allocations, extra ones and late frees, all at once.
TEST(PlanFollower, no_two_live_slots_overlap_whatever_the_order_of_events) {
  std::uint64_t planned = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const Iteration iteration = random_iteration(random);
    Follower follower(iteration);
    const std::uint32_t rarely = 2 + random() % 40;
    std::vector<std::uint32_t> held;
    for (int round = 0; round < 8; ++round) {
      follower.begin();
      planned += play(
          follower, iteration,
          [&](std::uint32_t i, auto&& ask) {
            const std::uint32_t kind = random() % rarely;
            std::uint64_t bytes = iteration[i].bytes;
            if (kind == 0) return;  // Missing.
            if (kind == 1) bytes = (1 + random() % 500) * granule;
            if (kind == 2) {  // Another one of the iteration, early or late.
              const IterationBlock& other = iteration[random() % iteration.size()];
              ask(other.bytes, other.stream);
            }
            ask(bytes, iteration[i].stream);
          },
          [&](std::uint32_t /*i*/) { return random() % rarely == 0; }, held);
      follower.check();
      ASSERT_FALSE(testing::Test::HasFailure()) << "with seed " << seed << ", round " << round;
    }
  }
  EXPECT_GT(planned, 20000U) << "a follower that refuses all proves nothing";
}

// Frees in no order at all, over the borders of iterations.
TEST(PlanFollower, no_two_live_slots_overlap_when_blocks_live_at_random) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    const Iteration iteration = random_iteration(random);
    Follower follower(iteration);
    std::vector<std::uint32_t> live;
    for (int i = 0; i < 2000; ++i) {
      if (random() % 150 == 0) follower.begin();
      const IterationBlock& any = iteration[(i + random() % 3) % iteration.size()];
      if (random() % 2 == 0) {
        if (const auto slot = follower.take(any.bytes, any.stream)) live.push_back(*slot);
      } else if (!live.empty()) {
        std::swap(live[random() % live.size()], live.back());
        follower.give_back(live.back());
        live.pop_back();
      }
    }
    follower.check();
    ASSERT_FALSE(testing::Test::HasFailure()) << "with seed " << seed;
  }
}

TEST(PlanFollower, what_is_still_live_keeps_its_place_in_the_next_iteration) {
  const Iteration iteration = {block(1024, 1), block(1024, 2)};
  Follower follower(iteration);
  follower.begin();
  const auto first = follower.take(1024);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(follower.take(1024), std::nullopt) << "the first should be free by now and is not";
  follower.begin();
  follower.check();
  EXPECT_FALSE(follower.plan().is_idle());
  EXPECT_EQ(follower.take(1024), std::nullopt);
  EXPECT_EQ(follower.take(1024), std::nullopt);
  follower.give_back(*first);
  EXPECT_TRUE(follower.plan().is_idle());
  follower.begin();
  EXPECT_EQ(follower.take(1024), std::optional<std::uint32_t>(0));
}

// A block that dies right after the one that is expected is looked at too.
TEST(PlanFollower, a_block_that_is_late_by_one_allocation_blocks_its_place) {
  const Iteration iteration = {block(2048, 2), block(512, 3), block(2048, 3)};
  Follower follower(iteration);
  follower.begin();
  const auto first = follower.take(2048);
  ASSERT_TRUE(first && follower.take(512));
  EXPECT_EQ(follower.take(2048), std::nullopt);
  follower.begin();
  follower.give_back(*first);
}

TEST(PlanFollower, a_shorter_iteration_uses_the_slots_of_the_longer) {
  const Iteration iteration = {block(8192, 4), block(4096, 3), block(8192, 4), block(4096, 4)};
  Follower follower(iteration, true);
  follower.begin();
  EXPECT_EQ(follower.take(6144), std::optional<std::uint32_t>(0));
  EXPECT_EQ(follower.take(3072), std::optional<std::uint32_t>(1));
}

TEST(PlanFollower, a_slot_whose_size_never_varied_is_for_that_size_alone) {
  const Iteration iteration = {block(8192, 2), block(4096, 2)};
  Follower follower(iteration);
  follower.begin();
  EXPECT_EQ(follower.take(6144), std::nullopt);
  EXPECT_EQ(follower.plan().deviations(), 1U);
  EXPECT_EQ(follower.take(4096), std::optional<std::uint32_t>(1)) << "still in step";
}

TEST(PlanFollower, what_is_larger_than_its_slot_or_of_another_kind_gets_none) {
  const Iteration iteration = {block(8192, 3), block(512, 3), block(std::uint64_t{1} << 20U, 3)};
  Follower follower(iteration, true);
  follower.begin();
  EXPECT_EQ(follower.take(16384), std::nullopt);
  EXPECT_EQ(follower.take(512), std::optional<std::uint32_t>(1)) << "the larger one was the first";
  EXPECT_EQ(follower.take(512), std::nullopt) << "2,048 times smaller than its slot";
  EXPECT_EQ(follower.take(std::uint64_t{1} << 20U), std::optional<std::uint32_t>(2));
  EXPECT_EQ(follower.take(512), std::nullopt) << "the iteration is over";
}

TEST(PlanFollower, an_allocation_that_is_missing_is_skipped_and_an_extra_one_costs_nothing) {
  Iteration iteration;
  for (std::uint32_t i = 0; i < 10; ++i) iteration.push_back(block((i + 1) * granule * 8, 10));
  Follower follower(iteration);
  follower.begin();
  EXPECT_EQ(follower.take(1 * granule * 8), std::optional<std::uint32_t>(0));
  EXPECT_EQ(follower.take(4 * granule * 8), std::optional<std::uint32_t>(3));
  EXPECT_EQ(follower.take(granule * 8192, 0), std::nullopt);
  EXPECT_EQ(follower.take(5 * granule * 8), std::optional<std::uint32_t>(4));
}

// Sizes of a smaller iteration are often those of other blocks of the planned one.
TEST(PlanFollower, a_smaller_iteration_stays_in_step) {
  const Iteration iteration = {block(8192, 5), block(6144, 5), block(4096, 5), block(2048, 5),
                               block(8192, 5)};
  Follower follower(iteration, true);
  follower.begin();
  EXPECT_EQ(follower.take(7168), std::optional<std::uint32_t>(0));
  EXPECT_EQ(follower.take(4096), std::optional<std::uint32_t>(1));
  EXPECT_EQ(follower.take(2048), std::optional<std::uint32_t>(2));
  EXPECT_EQ(follower.take(1024), std::optional<std::uint32_t>(3));
}

TEST(PlanFollower, after_a_change_of_plan_what_lives_is_in_nobodys_way) {
  const Iteration first = {block(4096, 4), block(2048, 4), block(1024, 4), block(1024, 4)};
  const Iteration second = {block(4096, 4), block(2048, 4), block(8192, 4), block(8192, 4)};
  Follower follower(first);
  follower.begin();
  const auto early = follower.take(4096);
  ASSERT_TRUE(early && follower.take(2048));
  follower.change_to(second, 2);
  int planned = 0;
  for (int i = 0; i < 2; ++i) planned += follower.take(8192) ? 1 : 0;  // take() checks overlaps.
  EXPECT_GE(planned, 1);
  follower.give_back(*early);
  follower.check();
  follower.begin();
  EXPECT_EQ(follower.take(4096), std::optional<std::uint32_t>(0));
}

// Plans that change at any moment, with blocks that live over the borders.
TEST(PlanFollower, no_two_live_places_overlap_whatever_plan_is_followed) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    const std::array<Iteration, 3> kinds = {random_iteration(random), random_iteration(random),
                                            random_iteration(random)};
    std::array<PlanPointer, 3> plans;
    for (std::size_t i = 0; i < 3; ++i)
      plans.at(i) = std::make_shared<const Plan>(kinds.at(i), lay_out(kinds.at(i)));
    PlanFollower follower;
    std::map<std::uint64_t, std::pair<std::uint64_t, PlanFollower::Place>> live;
    std::size_t kind = 0;
    for (std::uint32_t i = 0; i < 3000; ++i) {
      if (random() % 60 == 0) follower.begin();
      if (i == 0 || (random() % 40 == 0 && follower.can_change())) {
        kind = random() % 3;
        follower.follow(plans.at(kind), random() % plans.at(kind)->size());
      }
      const Iteration& iteration = kinds.at(kind);
      const IterationBlock& any =
          iteration[std::min<std::size_t>(follower.next() + random() % 2, iteration.size() - 1)];
      if (random() % 2 == 0) {
        const auto place = follower.take(any.bytes, any.stream);
        if (!place) continue;
        const std::uint64_t begin = follower.offset(*place);
        const auto above = live.lower_bound(begin);
        ASSERT_TRUE(above == live.end() || begin + any.bytes <= above->first) << "seed " << seed;
        ASSERT_TRUE(above == live.begin() ||
                    std::prev(above)->first + std::prev(above)->second.first <= begin)
            << "seed " << seed;
        live[begin] = {any.bytes, *place};
      } else if (!live.empty()) {
        const auto one = std::next(live.begin(), random() % live.size());
        follower.give_back(one->second.second);
        live.erase(one);
      }
    }
    ASSERT_EQ(follower.live_places().size(), live.size());
  }
}

TEST(PlanFollower, other_streams_get_nothing) {
  const Iteration iteration = {block(1024, 2), block(1024, 2)};
  Follower follower(iteration);
  follower.begin();
  EXPECT_FALSE(follower.plan().expects(1024, 1));
  EXPECT_EQ(follower.take(1024, 1), std::nullopt);
  EXPECT_EQ(follower.take(1024, 0), std::optional<std::uint32_t>(0));
}

}  // namespace
}  // namespace headroom::allocator
