// SPDX-License-Identifier: Apache-2.0
#include "faces/torch/captures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::torch_face {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
constexpr PoolKey pool = {0, 1};

headroom_stream stream_of(std::uintptr_t number) {
  return reinterpret_cast<headroom_stream>(number);  // NOLINT(performance-no-int-to-ptr)
}

class CapturesTest : public ::testing::Test {
 protected:
  CapturesTest() {
    headroom_allocator_options options = HEADROOM_ALLOCATOR_OPTIONS_INIT;
    options.backend = HEADROOM_BACKEND_SIMULATED;
    options.capacity_bytes = 64 * mib;
    options.planning = HEADROOM_PLANNING_OFF;
    allocator_ = headroom_allocator_create(&options);
  }
  ~CapturesTest() override { headroom_allocator_destroy(allocator_); }

  // Allocates as the slot does.
  void* take(headroom_stream stream, std::uint64_t bytes = mib) {
    captures_.note(allocator_, stream);
    return headroom_allocate(allocator_, bytes, stream, {HEADROOM_OTHER, 0});
  }
  void give(void* block, headroom_stream stream) {
    ASSERT_EQ(headroom_free(allocator_, block, stream), HEADROOM_OK);
  }
  void begin() {
    captures_.begin(pool, [this](headroom_stream stream) { return stream == captured_; });
  }

  headroom_allocator* allocator_ = nullptr;
  Captures captures_;
  headroom_stream captured_ = stream_of(16);
  headroom_stream other_ = stream_of(32);
};

TEST_F(CapturesTest, what_a_captured_stream_used_is_not_given_to_anything_else) {
  begin();
  void* const inside = take(captured_);
  give(inside, captured_);
  captures_.end(allocator_, pool);
  for (int i = 0; i < 20; ++i) EXPECT_NE(take(captured_), inside);
}

TEST_F(CapturesTest, streams_outside_the_capture_allocate_as_ever) {
  void* const before = take(other_);
  give(before, other_);
  begin();
  EXPECT_EQ(take(other_), before);
  captures_.end(allocator_, pool);
}

TEST_F(CapturesTest, a_pool_that_two_graphs_share_lives_as_long_as_both) {
  begin();
  void* const inside = take(captured_, 40 * mib);
  captures_.end(allocator_, pool);
  begin();
  captures_.end(allocator_, pool);
  give(inside, captured_);
  captures_.release(allocator_, pool);
  EXPECT_EQ(take(other_, 40 * mib), nullptr) << "the second graph still has the memory";
  captures_.release(allocator_, pool);
  EXPECT_NE(take(other_, 40 * mib), nullptr);
}

TEST_F(CapturesTest, a_capture_that_allocates_nothing_and_calls_out_of_turn_do_nothing) {
  captures_.end(allocator_, pool);
  captures_.release(allocator_, pool);
  begin();
  captures_.release(allocator_, pool);
  captures_.end(allocator_, pool);
  void* const block = take(captured_);
  give(block, captured_);
  EXPECT_EQ(take(captured_), block) << "nothing is captured any more";
}

}  // namespace
}  // namespace headroom::torch_face
