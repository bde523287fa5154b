// SPDX-License-Identifier: Apache-2.0
// Blocks in the order of a stream, hipMallocAsync() and its kind, under libheadroom_hip.so. The GPU
// does nothing before somebody waits for it, so a block that is reused too early shows in the
// bytes.
#include <algorithm>

#include "faces/hip_test.h"

namespace {

using ::testing::Each;

class HipStreamOrder : public Hip {
 protected:
  HipStreamOrder() { EXPECT_EQ(HIP(hipStreamCreateWithFlags)(&other_, non_blocking), 0); }

  static void* take_on(void* stream, std::size_t bytes = small) {
    void* block = nullptr;
    EXPECT_EQ(HIP(hipMallocAsync)(&block, bytes, stream), 0);
    return block;
  }
  // A block that was freed on the stream while a fill of it was queued there.
  static void* leave_busy(void* stream) {
    void* const block = take_on(stream);
    EXPECT_EQ(HIP(hipMemsetAsync)(block, 1, small, stream), 0);
    EXPECT_EQ(HIP(hipFreeAsync)(block, stream), 0);
    return block;
  }
  static void expect_untouched(void* block, void* stream) {
    EXPECT_EQ(HIP(hipMemsetAsync)(block, 2, small, stream), 0);
    EXPECT_EQ(HIP(hipStreamSynchronize)(stream), 0);
    EXPECT_EQ(HIP(hipDeviceSynchronize)(), 0);
    EXPECT_THAT(read(block), Each(2));
  }
  void* other_ = nullptr;
};

TEST_F(HipStreamOrder, a_block_is_headrooms_and_its_stream_reuses_it_at_once) {
  const auto before = counts();
  void* const first = leave_busy(stream_);
  void* const second = take_on(stream_);
  EXPECT_EQ(second, first);
  expect_untouched(second, stream_);
  EXPECT_EQ(HIP(hipFreeAsync)(second, stream_), 0);
  EXPECT_EQ(counts().allocations - before.allocations, 2U);
  EXPECT_EQ(counts().frees - before.frees, 2U);
  EXPECT_EQ(counts().passed_on, before.passed_on);
}

// The stream has no memory of its own, so it gets some that was freed by hipFree().
TEST_F(HipStreamOrder, what_a_stream_borrowed_it_reuses_at_once_too) {
  EXPECT_EQ(HIP(hipFree)(take_on(other_)), 0);  // From here blocks of hipMalloc() have a stream.
  std::vector<void*> idle;
  for (int i = 0; i < 4; ++i) idle.push_back(take());
  for (void* block : idle) EXPECT_EQ(HIP(hipFree)(block), 0);
  void* const first = leave_busy(stream_);
  ASSERT_NE(std::find(idle.begin(), idle.end(), first), idle.end()) << "otherwise nothing is shown";
  void* const second = take_on(stream_);
  EXPECT_EQ(second, first);
  expect_untouched(second, stream_);
  EXPECT_EQ(HIP(hipFree)(second), 0);
}

TEST_F(HipStreamOrder, another_stream_and_hip_malloc_do_not_get_what_is_in_use) {
  std::vector<void*> blocks;
  for (void* busy : {stream_, static_cast<void*>(nullptr)}) {
    leave_busy(busy);
    blocks.push_back(take_on(other_));
    expect_untouched(blocks.back(), other_);
    leave_busy(busy);
    blocks.push_back(take());
    expect_untouched(blocks.back(), other_);
  }
  for (void* block : blocks) EXPECT_EQ(HIP(hipFree)(block), 0);
}

// The test above would see it if a block were given away too early. It runs in a process of its
// own, where the allocator has no other memory to choose from.
class HipMistake : public HipStreamOrder {};
TEST_F(HipMistake, a_programs_own_mistake_shows_in_the_bytes) {
  void* const first = take_on(stream_);
  EXPECT_EQ(HIP(hipFreeAsync)(first, stream_), 0);
  EXPECT_EQ(HIP(hipMemsetAsync)(first, 1, small, other_), 0);  // It was freed.
  void* const second = take_on(stream_);
  ASSERT_EQ(second, first);
  EXPECT_EQ(HIP(hipMemsetAsync)(second, 2, small, stream_), 0);
  EXPECT_EQ(HIP(hipStreamSynchronize)(stream_), 0);
  EXPECT_EQ(HIP(hipDeviceSynchronize)(), 0);
  EXPECT_THAT(read(second), Each(1));
  EXPECT_EQ(HIP(hipFree)(second), 0);
}

TEST_F(HipStreamOrder, a_free_on_another_stream_waits_for_that_one) {
  void* const first = take_on(stream_);
  EXPECT_EQ(HIP(hipMemsetAsync)(first, 1, small, other_), 0);
  EXPECT_EQ(HIP(hipFreeAsync)(first, other_), 0);
  void* const second = take_on(stream_);
  expect_untouched(second, stream_);
  EXPECT_EQ(HIP(hipFree)(second), 0);
}

TEST_F(HipStreamOrder, a_destroyed_stream_is_done_first) {
  void* ended = nullptr;
  ASSERT_EQ(HIP(hipStreamCreateWithFlags)(&ended, non_blocking), 0);
  leave_busy(ended);
  ASSERT_EQ(HIP(hipStreamDestroy)(ended), 0);
  void* const block = take_on(other_);
  expect_untouched(block, other_);
  EXPECT_EQ(HIP(hipFree)(block), 0);
}

TEST_F(HipStreamOrder, the_devices_own_pool_is_headrooms_and_one_that_was_made_is_not) {
  void* own = nullptr;
  void* made = nullptr;
  ASSERT_EQ(HIP(hipDeviceGetDefaultMemPool)(&own, 0), 0);
  ASSERT_EQ(HIP(hipMemPoolCreate)(&made, nullptr), 0);
  const auto before = counts();
  void* block = nullptr;
  ASSERT_EQ(HIP(hipMallocFromPoolAsync)(&block, small, own, stream_), 0);
  EXPECT_EQ(counts().allocations, before.allocations + 1);
  EXPECT_EQ(HIP(hipMemPoolSetAccess)(own, nullptr, 0), not_supported);
  EXPECT_EQ(HIP(hipGetLastError)(), not_supported);
  EXPECT_EQ(HIP(hipMemPoolSetAccess)(made, nullptr, 0), 0);
  EXPECT_EQ(HIP(hipFreeAsync)(block, stream_), 0);
  ASSERT_EQ(HIP(hipMallocFromPoolAsync)(&block, small, made, stream_), 0);
  EXPECT_EQ(HIP(hipFreeAsync)(block, stream_), 0);
  ASSERT_EQ(HIP(hipDeviceSetMemPool)(0, made), 0);
  ASSERT_EQ(HIP(hipMallocAsync)(&block, small, stream_), 0);
  EXPECT_EQ(HIP(hipFreeAsync)(block, stream_), 0);
  ASSERT_EQ(HIP(hipDeviceSetMemPool)(0, own), 0);
  EXPECT_EQ(counts().allocations, before.allocations + 1);
  EXPECT_EQ(counts().passed_on, before.passed_on + 2);
}

TEST_F(HipStreamOrder, a_stream_that_is_captured_is_the_runtimes_and_frees_nothing_of_ours) {
  void* const block = take_on(stream_);
  const auto before = counts();
  ASSERT_EQ(HIP(hipStreamBeginCapture)(stream_, 2), 0);
  EXPECT_EQ(HIP(hipFreeAsync)(block, stream_), capture_unsupported);
  EXPECT_EQ(HIP(hipGetLastError)(), capture_unsupported);
  void* other = nullptr;
  EXPECT_EQ(HIP(hipMallocAsync)(&other, small, stream_), 0);
  void* graph = nullptr;
  ASSERT_EQ(HIP(hipStreamEndCapture)(stream_, &graph), 0);
  EXPECT_EQ(counts().allocations, before.allocations);
  EXPECT_EQ(counts().frees, before.frees);
  EXPECT_EQ(HIP(hipFree)(other), 0);
  EXPECT_EQ(HIP(hipFreeAsync)(block, stream_), 0);
}

TEST_F(HipStreamOrder, a_refused_block_is_hips_own_out_of_memory) {
  void* block = &block;
  EXPECT_EQ(HIP(hipMallocAsync)(&block, 1024 * mib, stream_), out_of_memory);
  EXPECT_EQ(block, nullptr);
  EXPECT_EQ(HIP(hipGetLastError)(), out_of_memory);
}

}  // namespace
