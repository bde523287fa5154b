// SPDX-License-Identifier: Apache-2.0
#include "stand_ins/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <thread>
#include <vector>

namespace headroom::stand_ins {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

std::uint64_t number(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// A GPU that defers, with a buffer of its own and a pinned one of the host's.
class DeferredGpu : public ::testing::Test {
 protected:
  DeferredGpu() : gpu_({.total_bytes = 4 * mib, .is_deferred = true, .polls = 2}, pinned_, 3) {
    pinned_.add(number(host_.data()), host_.size());
    buffer_ = *gpu_.allocate(mib);
    stream_ = *gpu_.create_stream(false);
  }
  char first_byte() {
    char byte = 0;
    EXPECT_TRUE(gpu_.copy_now(number(&byte), buffer_, 1));
    return byte;
  }

  PinnedMemory pinned_;
  Gpu gpu_;
  std::array<char, 4096> host_{};
  std::uint64_t buffer_ = 0;
  Gpu::Handle stream_ = 0;
};

TEST_F(DeferredGpu, a_fill_is_not_there_before_its_stream_was_waited_for) {
  ASSERT_TRUE(gpu_.fill(stream_, buffer_, mib, 'x', 1));
  EXPECT_EQ(first_byte(), '\0');
  ASSERT_TRUE(gpu_.wait_for_stream(stream_));
  EXPECT_EQ(first_byte(), 'x');
}

TEST_F(DeferredGpu, a_copy_from_pinned_memory_sees_what_is_there_when_it_runs) {
  host_[0] = '1';
  std::array<char, 16> pageable = {'p'};
  ASSERT_TRUE(gpu_.copy(stream_, buffer_, number(host_.data()), 1));
  ASSERT_TRUE(gpu_.copy(stream_, buffer_ + 1, number(pageable.data()), 1));
  host_[0] = '2';
  pageable[0] = 'q';
  ASSERT_TRUE(gpu_.wait_for_device());
  std::array<char, 2> found{};
  ASSERT_TRUE(gpu_.copy_now(number(found.data()), buffer_, 2));
  EXPECT_THAT(found, ::testing::ElementsAre('2', 'p'));
}

TEST_F(DeferredGpu, a_copy_to_pageable_memory_waits_for_itself) {
  ASSERT_TRUE(gpu_.fill(stream_, buffer_, mib, 'y', 1));
  char byte = 0;
  ASSERT_TRUE(gpu_.copy(stream_, number(&byte), buffer_, 1));
  EXPECT_EQ(byte, 'y');
}

TEST_F(DeferredGpu, an_event_is_ready_after_so_many_polls_and_its_work_is_done_then) {
  ASSERT_TRUE(gpu_.fill(stream_, buffer_, mib, 'z', 1));
  const Gpu::Handle event = *gpu_.create_event();
  EXPECT_TRUE(*gpu_.event_passed(event)) << "it was never recorded";
  ASSERT_TRUE(gpu_.record_event(event, stream_));
  EXPECT_FALSE(*gpu_.event_passed(event));
  EXPECT_EQ(first_byte(), '\0');
  EXPECT_FALSE(*gpu_.event_passed(event));
  EXPECT_TRUE(*gpu_.event_passed(event));
  EXPECT_EQ(first_byte(), 'z');
}

TEST_F(DeferredGpu, an_event_is_ready_at_once_after_a_wait_for_its_stream) {
  const Gpu::Handle event = *gpu_.create_event();
  const Gpu::Handle other = *gpu_.create_event();
  ASSERT_TRUE(gpu_.record_event(event, stream_));
  ASSERT_TRUE(gpu_.record_event(other, *gpu_.create_stream(false)));
  ASSERT_TRUE(gpu_.wait_for_stream(stream_));
  EXPECT_TRUE(*gpu_.event_passed(event));
  EXPECT_FALSE(*gpu_.event_passed(other));
}

TEST_F(DeferredGpu, work_that_meets_memory_that_is_gone_loses_the_device) {
  const std::uint64_t range = *gpu_.reserve(2 * mib, 0);
  const std::uint64_t page = *gpu_.create_pages(2 * mib);
  ASSERT_TRUE(gpu_.map(range, 2 * mib, page));
  ASSERT_TRUE(gpu_.set_access(range, 2 * mib));
  ASSERT_TRUE(gpu_.fill(stream_, range, 2 * mib, 'v', 1));
  ASSERT_TRUE(gpu_.unmap(range, 2 * mib));
  EXPECT_FALSE(gpu_.wait_for_stream(stream_));
  EXPECT_TRUE(gpu_.is_lost());
  EXPECT_FALSE(gpu_.allocate(mib));
}

TEST_F(DeferredGpu, a_plain_release_waits_for_all_work_first) {
  ASSERT_TRUE(gpu_.fill(stream_, buffer_, mib, 'w', 1));
  ASSERT_TRUE(gpu_.release(buffer_));
  EXPECT_FALSE(gpu_.is_lost());
}

TEST_F(DeferredGpu, a_graph_runs_as_often_as_it_is_launched) {
  ASSERT_TRUE(gpu_.begin_capture(stream_));
  ASSERT_TRUE(gpu_.copy(stream_, buffer_, number(host_.data()), 1));
  const Gpu::Handle graph = *gpu_.end_capture(stream_);
  for (const char byte : {'1', '2'}) {
    host_[0] = byte;
    ASSERT_TRUE(gpu_.launch_graph(graph, stream_));
    ASSERT_TRUE(gpu_.wait_for_stream(stream_));
    EXPECT_EQ(first_byte(), byte);
  }
}

TEST_F(DeferredGpu, the_nth_allocation_is_refused_once) {
  gpu_.refuse_allocation(2);
  EXPECT_TRUE(gpu_.allocate(4096));
  const auto refused = gpu_.allocate(4096);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::out_of_memory);
  EXPECT_TRUE(gpu_.allocate(4096));
  EXPECT_FALSE(gpu_.allocate(4 * mib)) << "there are 4 MiB in all";
}

TEST_F(DeferredGpu, handles_say_whose_they_are) {
  EXPECT_EQ(device_of(stream_, 0), 3U);
  EXPECT_EQ(device_of(*gpu_.create_event(), 0), 3U);
  EXPECT_EQ(device_of(0, 1), 1U);
}

TEST_F(DeferredGpu, takes_calls_of_many_threads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      const Gpu::Handle stream = *gpu_.create_stream(true);
      for (int n = 0; n < 200; ++n) {
        const auto block = gpu_.allocate(4096);
        if (!block) continue;
        EXPECT_TRUE(gpu_.fill(stream, *block, 4096, 'f', 1));
        EXPECT_TRUE(gpu_.wait_for_stream(stream));
        EXPECT_TRUE(gpu_.release(*block));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(gpu_.is_lost());
}

}  // namespace
}  // namespace headroom::stand_ins
