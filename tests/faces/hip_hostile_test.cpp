// SPDX-License-Identifier: Apache-2.0
// Programs that do what few do, and are right: blocks that outlive their stream, more streams than
// the allocator knows, streams of other GPUs, frees by other names, threads, a runtime that is
// closed. And some that are wrong, which must harm nobody.
#include <atomic>
#include <thread>

#include "faces/hip_test.h"

namespace {

using ::testing::Each;

// On the second GPU, which is as new at the beginning of each test.
class HipHostile : public Hip {
 protected:
  HipHostile() {
    EXPECT_EQ(HIP(hipSetDevice)(1), 0);
    EXPECT_EQ(HIP(hipDeviceReset)(), 0);
    EXPECT_EQ(HIP(hipStreamCreateWithFlags)(&own_, non_blocking), 0);
  }
  ~HipHostile() override { EXPECT_EQ(HIP(hipSetDevice)(0), 0); }

  static void* take_on(void* stream, std::size_t bytes = small) {
    void* block = nullptr;
    EXPECT_EQ(HIP(hipMallocAsync)(&block, bytes, stream), 0);
    return block;
  }
  static void* make_stream() {
    void* stream = nullptr;
    EXPECT_EQ(HIP(hipStreamCreateWithFlags)(&stream, non_blocking), 0);
    return stream;
  }
  void* own_ = nullptr;
};

TEST_F(HipHostile, a_block_outlives_its_stream_and_its_memory_comes_back) {
  for (const bool is_asynchronous : {false, true}) {
    void* const ended = make_stream();
    void* const block = take_on(ended, 40 * mib);
    ASSERT_EQ(HIP(hipMemsetAsync)(block, 1, small, ended), 0);
    ASSERT_EQ(HIP(hipStreamDestroy)(ended), 0);
    void* const next = make_stream();  // Its handle may be that of the one before.
    EXPECT_EQ(is_asynchronous ? HIP(hipFreeAsync)(block, next) : HIP(hipFree)(block), 0);
    void* const again = take_on(next, 40 * mib);
    ASSERT_NE(again, nullptr) << "the memory is lost";
    EXPECT_EQ(HIP(hipFree)(again), 0);
  }
}

TEST_F(HipHostile, more_streams_than_the_allocator_knows_free_what_is_theirs) {
  std::vector<void*> streams;
  std::vector<void*> blocks;
  const auto before = counts();
  for (int i = 0; i < 1100; ++i) {
    streams.push_back(make_stream());
    blocks.push_back(take_on(streams.back()));
  }
  // Each is freed on the stream of another one, so many are unknown.
  for (std::size_t i = 0; i < blocks.size(); ++i)
    ASSERT_EQ(HIP(hipFreeAsync)(blocks[i], streams[(i + 500) % streams.size()]), 0) << i;
  for (void* stream : streams) ASSERT_EQ(HIP(hipStreamDestroy)(stream), 0);
  const auto after = counts();
  EXPECT_EQ(after.frees - before.frees, after.allocations - before.allocations);
  EXPECT_GE(after.allocations - before.allocations, 1000U);
  EXPECT_EQ(HIP(hipFree)(take(60 * mib)), 0) << "it all came back";
}

TEST_F(HipHostile, a_free_on_a_stream_of_another_gpu_waits_for_both) {
  void* const block = take_on(own_);
  ASSERT_EQ(HIP(hipMemsetAsync)(block, 1, small, own_), 0);
  ASSERT_EQ(HIP(hipSetDevice)(0), 0);
  EXPECT_EQ(HIP(hipFreeAsync)(block, stream_), 0);
  ASSERT_EQ(HIP(hipSetDevice)(1), 0);
  void* const next = take_on(make_stream());
  write(next, 2);
  ASSERT_EQ(HIP(hipDeviceSynchronize)(), 0);
  EXPECT_THAT(read(next), Each(2));
  EXPECT_EQ(HIP(hipFree)(next), 0);
}

// AMD's runtime frees memory of the device by the names for memory of the host as well; there it
// would be the piece in which others live.
TEST_F(HipHostile, frees_by_other_names_free_the_block_alone) {
  void* const neighbour = take();
  write(neighbour, 7);
  for (const auto release : {HIP(hipHostFree), HIP(hipFreeHost)}) {
    const auto before = counts();
    void* const first = take();
    EXPECT_EQ(release(first), 0);
    EXPECT_EQ(release(first), invalid_value);
    EXPECT_EQ(counts().frees - before.frees, 1U);
    void* pinned = nullptr;
    ASSERT_EQ(HIP(hipHostMalloc)(&pinned, small, 0), 0);
    EXPECT_EQ(release(pinned), 0);
  }
  EXPECT_THAT(read(neighbour), Each(7));
  EXPECT_EQ(HIP(hipFree)(neighbour), 0);
  EXPECT_EQ(HIP(hipExtGetLastError)(), invalid_value);
  EXPECT_EQ(HIP(hipGetLastError)(), 0);
}

TEST_F(HipHostile, of_two_threads_that_free_one_block_one_does) {
  for (int round = 0; round < 200; ++round) {
    void* const block = take();
    std::atomic<int> freed = 0;
    const auto release = [&] {
      HIP(hipSetDevice)(1);
      if (HIP(hipFree)(block) == 0) ++freed;
    };
    std::thread other(release);
    release();
    other.join();
    ASSERT_EQ(freed, 1);
    static_cast<void>(HIP(hipGetLastError)());  // Of the free that was refused.
  }
}

TEST_F(HipHostile, threads_on_both_gpus_keep_their_bytes) {
  const auto before = counts();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&wrong, i] {
      HIP(hipSetDevice)(i % 2);
      void* const stream = make_stream();
      const std::vector<unsigned char> expected(small, static_cast<unsigned char>(i));
      for (int round = 0; round < 50; ++round) {
        const bool in_order = round % 2 == 0;
        void* const block = in_order ? take_on(stream) : take();
        HIP(hipMemsetAsync)(block, i, small, stream);
        HIP(hipStreamSynchronize)(stream);
        if (read(block) != expected) ++wrong;
        const int code = round % 4 < 2 ? HIP(hipFreeAsync)(block, stream) : HIP(hipFree)(block);
        if (code != 0) ++wrong;
      }
      HIP(hipStreamDestroy)(stream);
    });
  for (std::thread& one : threads) one.join();
  EXPECT_EQ(wrong, 0);
  const auto after = counts();
  EXPECT_EQ(after.allocations - before.allocations, 400U);
  EXPECT_EQ(after.frees - before.frees, 400U);
}

// HIP refuses to wait for a GPU while a graph is captured in the strictest mode.
TEST_F(HipHostile, a_free_during_a_capture_fails_and_the_block_lives_on) {
  void* const block = take();
  write(block, 5);
  ASSERT_EQ(HIP(hipStreamBeginCapture)(own_, 0), 0);
  void* const during = take();
  EXPECT_NE(during, nullptr) << "the allocator may allocate meanwhile";
  EXPECT_EQ(HIP(hipFree)(block), capture_unsupported);
  void* graph = nullptr;
  ASSERT_EQ(HIP(hipStreamEndCapture)(own_, &graph), 0);
  static_cast<void>(HIP(hipGetLastError)());
  EXPECT_THAT(read(block), Each(5));
  EXPECT_EQ(HIP(hipFree)(block), 0);
  EXPECT_EQ(HIP(hipFree)(during), 0);
}

TEST_F(HipHostile, a_block_of_before_a_reset_is_nobodys) {
  void* const block = take();
  ASSERT_EQ(HIP(hipDeviceReset)(), 0);
  EXPECT_NE(HIP(hipFree)(block), 0);
  static_cast<void>(HIP(hipGetLastError)());
  EXPECT_EQ(HIP(hipFree)(take()), 0);
}

TEST_F(HipHostile, a_runtime_that_is_closed_and_opened_again_still_has_the_blocks) {
  void* const block = take();
  write(block, 6);
  for (int i = 0; i < 3; ++i) {
    void* const library = ::dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr);
    EXPECT_EQ(::dlclose(library), 0);
  }
  EXPECT_THAT(read(block), Each(6));
  EXPECT_EQ(HIP(hipFree)(block), 0);
}

}  // namespace
