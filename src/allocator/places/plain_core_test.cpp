// SPDX-License-Identifier: Apache-2.0
#include "allocator/places/plain_core.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "allocator/simulated_backend.h"
#include "allocator/testing/faulty_backend.h"

namespace headroom::allocator {
namespace {

using Random = std::independent_bits_engine<std::mt19937, 32, std::uint32_t>;

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr std::uint64_t plenty = std::uint64_t{1} << 20U;

// A core over a device of so many MiB, with all that lives on it.
class Plain {
 public:
  explicit Plain(std::uint64_t capacity_mib, std::uint64_t device_mib = 0)
      : device_((device_mib > 0 ? device_mib : plenty) / 2,
                SimulatedBackend::without_virtual_memory()),
        faulty_(device_),
        pool_(faulty_, capacity_mib * mib),
        core_(pool_) {}

  SegmentId try_allocate(std::uint64_t bytes, StreamId stream = 0) {
    SegmentId id = core_.find_ready(bytes, stream);
    if (id == no_segment) id = core_.find(bytes, stream);
    if (id == no_segment) return id;
    Segment& segment = core_.segment(id);
    EXPECT_EQ(segment.bytes, bytes);
    segment.stream = stream;
    const auto above = live_.lower_bound(segment.address);
    EXPECT_TRUE(above == live_.end() || segment.end() <= above->first) << "overlap";
    if (above != live_.begin()) {
      EXPECT_LE(std::prev(above)->second, segment.address) << "overlap";
    }
    live_[segment.address] = segment.end();
    return id;
  }
  SegmentId allocate(std::uint64_t bytes, StreamId stream = 0) {
    const SegmentId id = try_allocate(bytes, stream);
    EXPECT_NE(id, no_segment) << bytes;
    return id;
  }
  void free(SegmentId id) {
    live_.erase(core_.segment(id).address);
    core_.release(id);
  }
  void check() {
    EXPECT_EQ(core_.broken_invariant(), "");
    std::uint64_t held = 0;
    std::uint64_t used = 0;
    for (const Tiling* tiling : core_.tilings()) {
      held += tiling->address_bytes();
      used += tiling->bytes_in(SegmentState::used);
    }
    EXPECT_EQ(held, pool_.totals().reserved_bytes) << "memory was lost";
    EXPECT_LE(pool_.totals().reserved_peak_bytes, pool_.capacity_bytes());
    std::uint64_t live = 0;
    for (const auto& [begin, end] : live_) live += end - begin;
    EXPECT_EQ(used, live);
  }
  std::uint64_t reserved() const { return pool_.totals().reserved_bytes; }
  std::uint64_t address(SegmentId id) const {
    return id == no_segment ? 0 : core_.segment(id).address;
  }

  SimulatedBackend device_;
  FaultyBackend faulty_;
  DevicePool pool_;
  PlainCore core_;

 private:
  std::map<std::uint64_t, std::uint64_t> live_;  // Ends by where they begin.
};

TEST(PlainCore, weights_of_a_size_that_repeats_share_what_rounding_each_would_waste) {
  Plain plain(400);
  std::vector<SegmentId> weights;
  for (int i = 0; i < 2; ++i) weights.push_back(plain.allocate(25 * mib));
  EXPECT_EQ(plain.reserved(), 52 * mib) << "as many as share one allocation have to come first";
  for (int i = 0; i < 4; ++i) weights.push_back(plain.allocate(25 * mib));
  EXPECT_EQ(plain.reserved(), 152 * mib) << "not four times 26 more";
  plain.allocate(24 * mib);  // Wastes nothing on its own.
  EXPECT_EQ(plain.reserved(), 176 * mib);
  plain.free(weights[2]);  // From now on large blocks come and go.
  plain.allocate(29 * mib);
  EXPECT_EQ(plain.reserved(), 206 * mib);
  plain.check();
}

TEST(PlainCore, large_blocks_go_back_whole_and_serve_a_larger_one) {
  Plain plain(200);
  std::vector<SegmentId> blocks;
  for (int i = 0; i < 5; ++i) {
    blocks.push_back(plain.allocate(38 * mib));
    plain.allocate(100 * kib);  // Small ones do not pin them.
  }
  EXPECT_EQ(plain.reserved(), 192 * mib);
  for (const SegmentId id : blocks) plain.free(id);
  EXPECT_EQ(plain.reserved(), 192 * mib) << "nothing goes back before somebody needs it";
  plain.allocate(198 * mib);
  plain.check();
}

TEST(PlainCore, an_idle_block_serves_its_like_without_the_device) {
  Plain plain(200);
  const SegmentId first = plain.allocate(40 * mib);
  const std::uint64_t address = plain.address(first);
  plain.free(first);
  const std::uint64_t calls = plain.pool_.totals().device_calls;
  const SegmentId second = plain.allocate(36 * mib);  // A tenth less.
  EXPECT_EQ(plain.address(second), address);
  plain.free(second);
  EXPECT_EQ(plain.address(plain.allocate(40 * mib)), address) << "the rest was merged again";
  EXPECT_EQ(plain.pool_.totals().device_calls, calls);
  EXPECT_NE(plain.address(plain.allocate(20 * mib)), address);
  plain.check();
}

TEST(PlainCore, what_is_flushed_first_is_the_nearest_from_above) {
  Plain plain(100);
  const SegmentId small = plain.allocate(20 * mib);
  const SegmentId middle = plain.allocate(30 * mib);
  const SegmentId large = plain.allocate(50 * mib);
  const std::uint64_t stays = plain.address(small);
  plain.free(small);
  plain.free(middle);
  plain.free(large);
  plain.allocate(26 * mib + 512);  // 28 MiB: from the 30, not from the 20 and not from the 50.
  EXPECT_EQ(plain.reserved(), 98 * mib);
  EXPECT_EQ(plain.address(plain.allocate(20 * mib)), stays);
  plain.check();
}

TEST(PlainCore, allocations_of_large_blocks_are_flushed_before_the_packed_ones) {
  Plain plain(100);
  const SegmentId packed = plain.allocate(5 * mib / 2);  // In a chunk of 32 MiB.
  const std::uint64_t stays = plain.address(packed);
  const SegmentId large = plain.allocate(66 * mib);
  plain.free(packed);
  plain.free(large);
  plain.allocate(40 * mib + 512);  // Too small for the idle 66 MiB to be used as they are.
  EXPECT_EQ(plain.address(plain.allocate(5 * mib / 2)), stays);
  plain.check();
}

// Another process holds part of the card, so the device refuses long before the capacity is
// reached.
TEST(PlainCore, flushes_until_the_device_does_not_refuse_any_more) {
  Plain plain(160, 120);
  std::vector<SegmentId> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(plain.allocate(20 * mib));
  for (const SegmentId id : blocks) plain.free(id);
  plain.allocate(60 * mib);
  plain.allocate(60 * mib);
  plain.check();
}

TEST(PlainCore, idle_memory_is_no_more_than_was_ever_in_use) {
  Plain plain(65536);
  Random random(4);
  std::uint64_t peak = 0;
  for (int step = 0; step < 60; ++step) {
    const std::uint64_t tokens = 128 + random() % 900;
    std::vector<SegmentId> live;
    std::uint64_t bytes = 0;
    for (std::uint64_t i = 0; i < 10; ++i) {
      live.push_back(plain.allocate(tokens * (200 + i) * kib));
      bytes += tokens * (200 + i) * kib;
    }
    peak = std::max(peak, bytes);
    for (const SegmentId id : live) plain.free(id);
    plain.check();
  }
  EXPECT_LE(plain.reserved(), 2 * peak + 40 * mib);
}

TEST(PlainCore, another_stream_gets_memory_only_after_a_wait) {
  Plain plain(64);
  plain.free(plain.allocate(60 * mib, 1));
  plain.faulty_.fail(BackendCall::wait, 1, 2);
  EXPECT_EQ(plain.try_allocate(60 * mib, 2), no_segment) << "the wait failed";
  EXPECT_EQ(plain.reserved(), 60 * mib) << "work may still use it: it does not go back either";
  plain.check();
  plain.allocate(60 * mib, 2);
  plain.check();
}

TEST(PlainCore, what_a_wait_brings_is_used_before_anything_is_flushed) {
  Plain plain(128);
  const SegmentId first = plain.allocate(60 * mib, 1);
  const std::uint64_t address = plain.address(first);
  plain.allocate(60 * mib, 2);
  plain.free(first);
  const std::uint64_t releases = plain.faulty_.calls(BackendCall::release);
  EXPECT_EQ(plain.address(plain.allocate(58 * mib, 2)), address);
  EXPECT_EQ(plain.faulty_.calls(BackendCall::release), releases);
}

TEST(PlainCore, the_capacity_is_used_to_the_last_page) {
  Plain plain(30);
  plain.allocate(24 * mib);
  plain.allocate(100 * kib);    // A chunk of 2 MiB.
  plain.allocate(5 * mib / 2);  // No room for a chunk of 32 MiB: as much as there is.
  plain.check();
  EXPECT_EQ(plain.reserved(), 30 * mib);
  EXPECT_EQ(plain.try_allocate(4 * mib), no_segment);
  plain.allocate(mib + 512);  // What is free in the chunks serves as well.
  plain.check();
}

TEST(PlainCore, gives_up_what_is_idle_and_no_more_than_is_needed) {
  Plain plain(200);
  const SegmentId a = plain.allocate(40 * mib, 1);
  const SegmentId b = plain.allocate(60 * mib, 2);
  plain.allocate(20 * mib);
  plain.free(a);
  plain.free(b);
  EXPECT_EQ(plain.core_.give_up(30 * mib), 40 * mib);
  EXPECT_EQ(plain.core_.give_up(200 * mib), 60 * mib);
  EXPECT_EQ(plain.core_.give_up(200 * mib), 0U);
  EXPECT_EQ(plain.reserved(), 20 * mib);
  plain.check();
}

TEST(PlainCore, pieces_of_a_block_keep_their_places_and_the_rest_is_free) {
  Plain plain(100);
  const SegmentId block = plain.allocate(40 * mib);
  const std::uint64_t at = plain.address(block);
  const std::vector<Tiling::Piece> pieces = {
      {at + 512, 1024}, {at + 1536, 2 * mib}, {at + 30 * mib, 10 * mib}};
  const std::vector<SegmentId> made = plain.core_.carve_up(block, pieces);
  ASSERT_EQ(made.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(plain.core_.segment(made[i]).address, pieces[i].address);
    EXPECT_EQ(plain.core_.segment(made[i]).bytes, pieces[i].bytes);
    EXPECT_EQ(plain.core_.segment(made[i]).state, SegmentState::used);
  }
  EXPECT_EQ(plain.core_.broken_invariant(), "");
  const Tiling& own = *plain.core_.tilings().back();
  EXPECT_EQ(own.bytes_in(SegmentState::free), 28 * mib - 1024);
  for (const SegmentId id : made) plain.core_.release(id);
  EXPECT_EQ(plain.core_.broken_invariant(), "");
  EXPECT_EQ(plain.core_.give_up(1), 40 * mib) << "it is whole again";
}

TEST(PlainCore, a_block_without_live_pieces_becomes_free) {
  Plain plain(100);
  const SegmentId block = plain.allocate(40 * mib);
  EXPECT_TRUE(plain.core_.carve_up(block, {}).empty());
  EXPECT_EQ(plain.core_.give_up(1), 40 * mib);
  const SegmentId whole = plain.allocate(40 * mib);
  EXPECT_EQ(plain.core_.carve_up(whole, {{plain.address(whole), 40 * mib}}),
            std::vector<SegmentId>{whole});
  EXPECT_EQ(plain.core_.broken_invariant(), "");
}

class PlainCoreFaults : public testing::TestWithParam<BackendCall> {};

TEST_P(PlainCoreFaults, nothing_is_lost_whichever_call_fails) {
  for (std::uint64_t n = 1; n < 40; ++n) {
    Plain plain(96);
    plain.faulty_.fail(GetParam(), n);
    std::vector<SegmentId> live;
    for (std::uint64_t i = 0; i < 40; ++i) {
      const std::uint64_t bytes = (i % 4 == 0 ? 300 * kib : (6 + i % 13) * mib) + (i % 7) * 512;
      const SegmentId id = plain.try_allocate(bytes, static_cast<StreamId>(i % 2));
      if (id != no_segment) live.push_back(id);
      if (live.size() > 5 || id == no_segment) {
        plain.free(live[i % live.size()]);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(i % live.size()));
      }
      plain.check();
      ASSERT_FALSE(HasFailure()) << "with call " << n << " failing";
    }
    EXPECT_GE(plain.faulty_.calls(GetParam()), 2U);
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, PlainCoreFaults,
                         testing::Values(BackendCall::allocate, BackendCall::release,
                                         BackendCall::wait));

TEST(PlainCore, random_operations_with_faults_lose_nothing) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    Plain plain(128, seed % 2 == 0 ? 100 : 0);
    std::vector<SegmentId> live;
    for (int i = 0; i < 3000; ++i) {
      const auto soon = [&](BackendCall call) {
        plain.faulty_.fail(call, plain.faulty_.calls(call) + 1 + random() % 4, 1 + random() % 3);
      };
      if (random() % 30 == 0) soon(BackendCall::allocate);
      if (random() % 30 == 0) soon(BackendCall::release);
      if (random() % 30 == 0) soon(BackendCall::wait);
      if (random() % 40 == 0) plain.core_.publish(random() % 3);
      if (random() % 400 == 0) plain.core_.give_up(random() % (64 * mib));
      if (random() % 10 < 5 && !live.empty()) {
        std::swap(live[random() % live.size()], live.back());
        plain.free(live.back());
        live.pop_back();
      } else {
        const std::uint64_t granules = random() % 3 == 0 ? random() % 700 : random() % 60000;
        const SegmentId id = plain.try_allocate((1 + granules) * 512, random() % 3);
        if (id != no_segment) live.push_back(id);
      }
      if (i % 8 == 0) plain.check();
      ASSERT_FALSE(testing::Test::HasFailure()) << "with seed " << seed << ", operation " << i;
    }
  }
}

// Every search goes through all indexes, and each index takes some kilobytes.
TEST(ManyStreamsOnPlainMemory, there_are_indexes_for_so_many_of_them_only) {
  SimulatedBackend device(plenty, SimulatedBackend::without_virtual_memory());
  DevicePool pool(device, 8192 * mib);
  PlainCore core(pool);
  std::vector<SegmentId> live;
  const auto allocate = [&](StreamId stream) {
    SegmentId id = core.find_ready(700 * kib, stream);
    if (id == no_segment) id = core.find(700 * kib, stream);
    core.segment(id).stream = stream;
    return id;
  };
  const auto expect_few = [&] {
    for (const Tiling* tiling : core.tilings()) ASSERT_LE(tiling->stream_count(), 66U);
  };
  for (StreamId stream = 0; stream < 1000; ++stream) {
    live.push_back(allocate(stream));
    expect_few();
  }
  for (const SegmentId id : live) {
    core.release(id);
    expect_few();
  }
  // Each stream allocates all that it has freed, so that it has nothing free left.
  for (StreamId stream = 0; stream < 1000; ++stream) {
    core.release(allocate(stream));
    live[stream] = allocate(stream);
    expect_few();
  }
  EXPECT_EQ(core.broken_invariant(), "");
}

}  // namespace
}  // namespace headroom::allocator
