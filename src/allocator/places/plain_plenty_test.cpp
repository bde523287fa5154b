// SPDX-License-Identifier: Apache-2.0
// PlainCore while memory is plenty: when it packs blocks, and when it stops.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "allocator/places/plain_core.h"
#include "allocator/simulated_backend.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

// A core that may hold `capacity_mib` on a device that has `device_mib`.
class Plenty {
 public:
  explicit Plenty(std::uint64_t capacity_mib, std::uint64_t device_mib = 1U << 20U)
      : device_(device_mib / 2, SimulatedBackend::without_virtual_memory()),
        pool_(device_, capacity_mib * mib),
        core_(pool_) {}

  SegmentId allocate(std::uint64_t bytes) {
    SegmentId id = core_.find_ready(bytes, 0);
    if (id == no_segment) id = core_.find(bytes, 0);
    EXPECT_NE(id, no_segment) << bytes;
    return id;
  }
  void free(SegmentId id) { core_.release(id); }
  void iterate(int times) {
    for (int i = 0; i < times; ++i) core_.note_iteration();
  }
  std::uint64_t held() const { return pool_.totals().reserved_bytes; }
  std::uint64_t calls() const { return pool_.totals().device_calls; }
  std::uint64_t address(SegmentId id) const { return core_.segment(id).address; }

  SimulatedBackend device_;
  DevicePool pool_;
  PlainCore core_;
};

TEST(PlainPlenty, blocks_share_allocations_and_are_split) {
  Plenty plenty(1U << 20U);
  std::vector<SegmentId> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(plenty.allocate(4 * mib));
  EXPECT_EQ(plenty.calls(), 1U);
  EXPECT_EQ(plenty.held(), 20 * mib);
  const SegmentId large = plenty.allocate(60 * mib);
  const std::uint64_t calls = plenty.calls();
  plenty.free(large);
  for (int i = 0; i < 3; ++i) plenty.allocate(20 * mib);
  EXPECT_EQ(plenty.calls(), calls) << "the 60 MiB serve three times 20";
  EXPECT_EQ(plenty.core_.broken_invariant(), "");
}

TEST(PlainPlenty, half_a_mebibyte_more_takes_two) {
  Plenty plenty(1U << 20U);
  plenty.allocate(mib / 2);
  EXPECT_EQ(plenty.held(), 2 * mib);
  plenty.allocate(mib);
  EXPECT_EQ(plenty.held(), 22 * mib) << "a larger one is packed among larger ones";
}

TEST(PlainPlenty, large_blocks_are_kept_apart_once_a_sixteenth_of_the_capacity_is_held) {
  Plenty plenty(1600);  // Of which a sixteenth is 100.
  plenty.allocate(80 * mib);
  EXPECT_TRUE(plenty.core_.is_at_ease());
  const SegmentId apart = plenty.allocate(60 * mib);
  EXPECT_FALSE(plenty.core_.is_at_ease());
  plenty.allocate(60 * mib);
  const std::uint64_t address = plenty.address(apart);
  plenty.free(apart);
  EXPECT_NE(plenty.address(plenty.allocate(20 * mib)), address);
  EXPECT_EQ(plenty.address(plenty.allocate(60 * mib)), address);
}

TEST(PlainPlenty, what_is_left_beside_packed_blocks_is_used_later) {
  Plenty plenty(1600);
  plenty.free(plenty.allocate(80 * mib));
  const SegmentId pins = plenty.allocate(10 * mib);
  plenty.allocate(90 * mib);  // Ends the plenty.
  const std::uint64_t held = plenty.held();
  const SegmentId beside = plenty.allocate(70 * mib);
  EXPECT_EQ(plenty.address(beside), plenty.address(pins) + 10 * mib);
  EXPECT_EQ(plenty.held(), held);
}

TEST(PlainPlenty, a_modest_job_is_at_ease_after_three_iterations_and_holds_nothing_idle) {
  Plenty plenty(400);
  const SegmentId weights = plenty.allocate(60 * mib);
  plenty.free(plenty.allocate(80 * mib));
  EXPECT_FALSE(plenty.core_.is_at_ease());
  plenty.iterate(2);
  EXPECT_EQ(plenty.held(), 140 * mib);
  plenty.iterate(1);
  EXPECT_TRUE(plenty.core_.is_at_ease());
  EXPECT_EQ(plenty.held(), 60 * mib) << "what was idle went back";
  const SegmentId large = plenty.allocate(80 * mib);
  plenty.free(large);
  const std::uint64_t calls = plenty.calls();
  plenty.allocate(40 * mib);
  plenty.allocate(40 * mib);
  EXPECT_EQ(plenty.calls(), calls);
  plenty.iterate(10);
  EXPECT_EQ(plenty.calls(), calls) << "nothing is given back twice";
  plenty.free(weights);
}

TEST(PlainPlenty, it_ends_again_when_three_quarters_are_held) {
  Plenty plenty(400);
  plenty.free(plenty.allocate(150 * mib));
  plenty.iterate(3);
  plenty.allocate(280 * mib);
  EXPECT_TRUE(plenty.core_.is_at_ease());
  plenty.allocate(60 * mib);
  EXPECT_FALSE(plenty.core_.is_at_ease());
  plenty.iterate(10);
  EXPECT_FALSE(plenty.core_.is_at_ease()) << "it used more than half";
}

TEST(PlainPlenty, a_job_that_used_more_than_half_is_not_modest) {
  Plenty plenty(400);
  plenty.free(plenty.allocate(210 * mib));
  plenty.iterate(10);
  EXPECT_FALSE(plenty.core_.is_at_ease());
  EXPECT_EQ(plenty.held(), 210 * mib);
}

TEST(PlainPlenty, what_other_cores_hold_counts) {
  Plenty plenty(400);
  PlainCore other(plenty.pool_);
  EXPECT_NE(other.find(150 * mib, 1), no_segment);
  plenty.free(plenty.allocate(60 * mib));
  plenty.iterate(10);
  EXPECT_FALSE(plenty.core_.is_at_ease());
}

// Another process holds nearly all of the card: the capacity is a promise that nobody keeps.
TEST(PlainPlenty, a_refusal_ends_it_for_good) {
  Plenty plenty(1U << 20U, 60);
  plenty.free(plenty.allocate(40 * mib));
  plenty.allocate(50 * mib);
  EXPECT_FALSE(plenty.core_.is_at_ease());
  plenty.iterate(10);
  EXPECT_FALSE(plenty.core_.is_at_ease());
  EXPECT_EQ(plenty.held(), 50 * mib);
}

TEST(PlainPlenty, a_smaller_capacity_ends_it) {
  Plenty plenty(1U << 20U);
  plenty.allocate(60 * mib);
  plenty.pool_.set_capacity(200 * mib);
  EXPECT_EQ(plenty.address(plenty.allocate(4 * mib)) % mib, 0U);
  EXPECT_FALSE(plenty.core_.is_at_ease());
  EXPECT_EQ(plenty.held(), 64 * mib);
}

TEST(PlainPlenty, a_graphs_memory_is_not_rounded_up_where_memory_is_short) {
  Plenty plenty(64);
  EXPECT_NE(plenty.core_.find_new(8 * mib, 0), no_segment);
  EXPECT_EQ(plenty.held(), 8 * mib);
}

TEST(PlainPlenty, a_wait_that_brings_a_place_spares_giving_memory_back) {
  Plenty plenty(256);
  const SegmentId first = plenty.allocate(60 * mib);
  plenty.core_.segment(first).stream = 1;
  const std::uint64_t address = plenty.address(first);
  plenty.allocate(60 * mib);
  plenty.free(first);
  const std::uint64_t held = plenty.held();
  EXPECT_EQ(plenty.address(plenty.allocate(58 * mib)), address);
  EXPECT_EQ(plenty.held(), held);
}

}  // namespace
}  // namespace headroom::allocator
