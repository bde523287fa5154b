// SPDX-License-Identifier: Apache-2.0
// An allocator's recording against the allocator itself: the memory that the events add up to is
// the memory that it holds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "allocator/headroom/headroom_allocator.h"
#include "allocator/replay/snapshot_of_heap.h"
#include "allocator/replay/testing/memory_recording.h"
#include "allocator/simulated_backend.h"
#include "allocator/testing/faulty_backend.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr std::uint32_t rings = 4;

// By address; stretches of pages that touch are one, as ranges of addresses may lie side by side.
std::string text_of(std::vector<DeviceSpan> spans) {
  const auto below = [](const auto& a, const auto& b) { return a.address < b.address; };
  std::sort(spans.begin(), spans.end(), below);
  std::string text;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const DeviceSpan& span = spans[i];
    const bool joins = i > 0 && span.pages && spans[i - 1].pages &&
                       spans[i - 1].stream == span.stream &&
                       spans[i - 1].address + spans[i - 1].bytes == span.address;
    if (joins)
      spans[i] = {spans[i - 1].address, spans[i - 1].bytes + span.bytes, span.stream, true};
    const bool is_last = i + 1 == spans.size() || !spans[i].pages || !spans[i + 1].pages ||
                         spans[i + 1].stream != spans[i].stream ||
                         spans[i + 1].address != spans[i].address + spans[i].bytes;
    if (is_last)
      text += fmt::format("{:x}+{:x} of {}{}\n", spans[i].address, spans[i].bytes, spans[i].stream,
                          spans[i].pages ? ", pages" : "");
  }
  return text;
}

class RecordedDevice : public testing::TestWithParam<bool> {
 protected:
  RecordedDevice()
      : device_(SimulatedBackend::default_page_limit,
                GetParam() ? SimulatedBackend::assumed_capabilities()
                           : SimulatedBackend::without_virtual_memory()) {
    HeadroomAllocator::Options options;
    options.address_range_bytes = 64 * mib;
    options.recorder = [this](std::uint32_t shard) {
      return shard + 1 < rings ? &file_.shard(shard) : nullptr;
    };
    options.device_recorder = &file_.device();
    allocator_.emplace(faulty_, 96 * mib, std::move(options));
  }

  // A step of a program that allocates and frees on three streams, and now and then trims.
  void step() {
    const std::uint64_t what = random_() % 16;
    if (what == 0) {
      allocator_->synchronize(static_cast<StreamId>(random_() % 3));
    } else if (what == 1 && random_() % 16 == 0) {
      allocator_->trim();
    } else if (what < 9 || live_.empty()) {
      const std::uint64_t bytes = random_() % 8 == 0 ? random_() % (20 * mib) : random_() % mib;
      const auto address =
          allocator_->allocate({bytes, Component::other, static_cast<StreamId>(random_() % 3)});
      if (address) live_.push_back(*address);
    } else {
      std::swap(live_[random_() % live_.size()], live_.back());
      allocator_->free(live_.back());
      live_.pop_back();
    }
  }
  void expect_recorded() {
    const Recording recording = file_.read();
    ASSERT_EQ(recording.device_events, DeviceEvents::all);
    const HeapView recorded = heap_at_end(recording);
    const HeapView real = allocator_->view({});
    ASSERT_EQ(text_of(recorded.spans), text_of(real.spans));
    ASSERT_EQ(recorded.blocks.size(), real.blocks.size());
    ASSERT_EQ(recorded.usage.live_bytes, real.usage.live_bytes);
  }

  std::mt19937_64 random_{11};
  SimulatedBackend device_;
  FaultyBackend faulty_{device_};
  MemoryFile file_{rings, 65536, true};
  std::optional<HeadroomAllocator> allocator_;
  std::vector<Address> live_;
};

TEST_P(RecordedDevice, the_events_add_up_to_what_is_held) {
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 100; ++i) step();
    expect_recorded();
  }
  const MissCounts counts = allocator_->miss_counts();
  EXPECT_GE(counts.repairs + counts.flushes, 8U);
}

TEST_P(RecordedDevice, what_the_device_refuses_is_not_noted_as_done) {
  for (const BackendCall call : {BackendCall::map, BackendCall::allow_access, BackendCall::unmap,
                                 BackendCall::create, BackendCall::allocate, BackendCall::release})
    faulty_.fail(call, 40, 3);
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 100; ++i) step();
    expect_recorded();
  }
}

TEST_P(RecordedDevice, the_end_of_the_allocator_is_no_event) {
  for (int i = 0; i < 100; ++i) step();
  const std::string held = text_of(allocator_->view({}).spans);
  allocator_.reset();
  EXPECT_EQ(text_of(heap_at_end(file_.read()).spans), held);
}

TEST_P(RecordedDevice, an_export_has_the_segments_and_pytorchs_events_for_them) {
  for (int i = 0; i < 2000; ++i) step();
  const Recording recording = file_.read();
  const Snapshot recorded = to_snapshot(recording);
  std::vector<DeviceSpan> segments;
  for (const SnapshotSegment& each : recorded.segments)
    segments.push_back(
        {each.address, each.total_bytes, static_cast<StreamId>(each.stream), each.expandable});
  EXPECT_EQ(text_of(segments), text_of(allocator_->view({}).spans));
  std::uint64_t taken = 0;
  for (const SnapshotEvent& event : recorded.events) {
    using enum SnapshotAction;
    const bool takes = event.action == (GetParam() ? segment_map : segment_alloc);
    const bool gives = event.action == (GetParam() ? segment_unmap : segment_free);
    taken += takes ? event.bytes : 0;
    taken -= gives ? event.bytes : 0;
  }
  std::uint64_t held = 0;
  for (const DeviceSpan& span : segments) held += span.bytes;
  EXPECT_EQ(taken, held);
}

INSTANTIATE_TEST_SUITE_P(memory, RecordedDevice, testing::Bool(),
                         [](const auto& each) { return each.param ? "virtual_memory" : "plain"; });

TEST(RecordedRepair, pages_that_are_moved_together_are_one_event) {
  SimulatedBackend device;
  MemoryFile file(2, 1024, true);
  HeadroomAllocator::Options options;
  options.recorder = [&](std::uint32_t shard) { return shard == 0 ? &file.shard() : nullptr; };
  options.device_recorder = &file.device();
  HeadroomAllocator allocator(device, 128 * mib, std::move(options));
  const Address below = *allocator.allocate({60 * mib});
  ASSERT_TRUE(allocator.allocate({2 * mib}));
  const Address above = *allocator.allocate({60 * mib});
  ASSERT_TRUE(allocator.allocate({2 * mib}));
  allocator.free(below);
  allocator.free(above);
  const std::uint64_t before = file.device().written();
  ASSERT_TRUE(allocator.allocate({100 * mib}));
  EXPECT_EQ(allocator.miss_counts().repairs, 1U);
  EXPECT_GE(allocator.miss_counts().moved_pages, 20U);
  EXPECT_LE(file.device().written() - before, 4U);
}

// What no capacity could ever hold is refused before anything else is looked at, and the program
// dies of it all the same.
TEST(RecordedRefusal, a_request_above_the_capacity_is_the_end_of_the_recording) {
  for (const std::uint64_t bytes : {std::uint64_t{48} * mib, std::uint64_t{1} << 47U}) {
    SimulatedBackend device;
    MemoryFile file;
    HeadroomAllocator::Options options;
    options.recorder = [&](std::uint32_t shard) { return shard == 0 ? &file.shard() : nullptr; };
    HeadroomAllocator allocator(device, 32 * mib, std::move(options));
    ASSERT_TRUE(allocator.allocate({8 * mib}));
    EXPECT_EQ(allocator.allocate({bytes, Component::logits}), std::nullopt);
    const FlightEvent last = file.read().events.back();
    EXPECT_EQ(last.kind, FlightKind::refuse);
    EXPECT_EQ(last.tag, Component::logits);
    EXPECT_EQ(last.bytes, bytes);
    EXPECT_EQ(to_trace(file.read()).events.back().bytes, bytes);
    EXPECT_EQ(allocator.broken_invariant(), "");
  }
}

TEST(RecordedRefusal, the_largest_request_there_is_does_not_wrap_around) {
  SimulatedBackend device;
  MemoryFile file;
  HeadroomAllocator::Options options;
  options.recorder = [&](std::uint32_t shard) { return shard == 0 ? &file.shard() : nullptr; };
  HeadroomAllocator allocator(device, 32 * mib, std::move(options));
  EXPECT_EQ(allocator.allocate({UINT64_MAX}), std::nullopt);
  ASSERT_EQ(file.read().events.size(), 1U);
  EXPECT_GT(file.read().events.front().bytes, std::uint64_t{1} << 47U);
}

}  // namespace
}  // namespace headroom::allocator
