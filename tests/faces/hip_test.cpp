// SPDX-License-Identifier: Apache-2.0
// A HIP program that knows nothing of headroom, on the stand-in for HIP; CMake preloads
// libheadroom_hip.so, or libheadroom_preload.so, which opens it. The program is compiled twice:
// linked to the runtime, and opening it itself.
#include "faces/hip_test.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

namespace {

using ::testing::Each;
using ::testing::HasSubstr;

TEST_F(Hip, every_block_is_headrooms_and_has_its_free) {
  const auto before = counts();
  const auto pieces = HIP(fake_gpu_count)(0, "allocations");
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(take());
  for (void* block : blocks) EXPECT_EQ(HIP(hipFree)(block), 0);
  const auto after = counts();
  EXPECT_EQ(after.allocations - before.allocations, 100U);
  EXPECT_EQ(after.frees - before.frees, 100U);
  EXPECT_EQ(after.passed_on, before.passed_on);
  EXPECT_LE(HIP(fake_gpu_count)(0, "allocations") - pieces, 1U);
}

TEST_F(Hip, memory_is_given_away_only_when_work_on_any_stream_is_done) {
  void* const first = take();
  ASSERT_EQ(HIP(hipMemsetAsync)(first, 1, small, stream_), 0);
  ASSERT_EQ(HIP(hipFree)(first), 0);
  void* const second = take();
  ASSERT_EQ(second, first) << "otherwise nothing is shown";
  write(second, 2);
  ASSERT_EQ(HIP(hipDeviceSynchronize)(), 0);
  EXPECT_THAT(read(second), Each(2));
  EXPECT_EQ(HIP(hipFree)(second), 0);
}

TEST_F(Hip, an_asynchronous_free_waits_too) {
  void* const first = take();
  ASSERT_EQ(HIP(hipMemsetAsync)(first, 1, small, stream_), 0);
  ASSERT_EQ(HIP(hipFreeAsync)(first, nullptr), 0);
  void* const second = take();
  ASSERT_EQ(second, first) << "otherwise nothing is shown";
  write(second, 2);
  ASSERT_EQ(HIP(hipDeviceSynchronize)(), 0);
  EXPECT_THAT(read(second), Each(2));
  EXPECT_EQ(HIP(hipFree)(second), 0);
}

// The two tests above would see it if memory were given away too early.
TEST_F(Hip, a_programs_own_mistake_shows_in_the_bytes) {
  void* const first = take();
  ASSERT_EQ(HIP(hipFree)(first), 0);
  ASSERT_EQ(HIP(hipMemsetAsync)(first, 1, small, stream_), 0);  // It was freed.
  void* const second = take();
  ASSERT_EQ(second, first);
  write(second, 2);
  ASSERT_EQ(HIP(hipDeviceSynchronize)(), 0);
  EXPECT_THAT(read(second), Each(1));
  EXPECT_EQ(HIP(hipFree)(second), 0);
}

TEST_F(Hip, a_refused_block_is_hips_own_out_of_memory) {
  void* block = &block;
  EXPECT_EQ(HIP(hipMalloc)(&block, 1024 * mib), out_of_memory);
  EXPECT_EQ(block, nullptr);
  EXPECT_EQ(HIP(hipPeekAtLastError)(), out_of_memory);
  EXPECT_EQ(HIP(hipGetLastError)(), out_of_memory);
  EXPECT_EQ(HIP(hipGetLastError)(), 0);
  EXPECT_EQ(HIP(hipFree)(take()), 0) << "smaller ones fit as before";
}

TEST_F(Hip, a_second_free_and_one_inside_a_block_are_refused_and_harm_nobody) {
  void* const first = take();
  void* const other = take();
  write(other, 7);
  EXPECT_EQ(HIP(hipFree)(static_cast<char*>(first) + 512), invalid_value);
  EXPECT_EQ(HIP(hipFree)(first), 0);
  EXPECT_EQ(HIP(hipFree)(first), invalid_value);
  EXPECT_EQ(HIP(hipGetLastError)(), invalid_value);
  EXPECT_THAT(read(other), Each(7));
  EXPECT_EQ(HIP(hipFree)(other), 0);
  EXPECT_EQ(HIP(hipFree)(nullptr), 0);
}

TEST_F(Hip, a_block_of_another_gpu_is_freed_there_and_the_current_one_stays) {
  ASSERT_EQ(HIP(hipSetDevice)(1), 0);
  void* const block = take();
  EXPECT_GT(HIP(fake_gpu_count)(1, "allocations"), 0U);
  ASSERT_EQ(HIP(hipSetDevice)(0), 0);
  EXPECT_EQ(HIP(hipFree)(block), 0);
  int device = -1;
  EXPECT_EQ(HIP(hipGetDevice)(&device), 0);
  EXPECT_EQ(device, 0);
}

TEST_F(Hip, idle_memory_of_the_allocator_counts_as_free) {
  EXPECT_EQ(HIP(hipFree)(take(8 * mib)), 0);  // So the allocator holds some.
  std::size_t before = 0;
  std::size_t during = 0;
  std::size_t total = 0;
  ASSERT_EQ(HIP(hipMemGetInfo)(&before, &total), 0);
  void* const block = take(4 * mib);
  ASSERT_EQ(HIP(hipMemGetInfo)(&during, &total), 0);
  EXPECT_EQ(before - during, 4 * mib);
  EXPECT_EQ(HIP(hipFree)(block), 0);
}

TEST_F(Hip, functions_by_name_are_headrooms_too_and_all_others_are_the_runtimes) {
  const auto before = counts();
  void* found = nullptr;
  ASSERT_EQ(HIP(hipGetProcAddress)("hipMalloc", &found, 70000000, 0, nullptr), 0);
  void* block = nullptr;
  ASSERT_EQ(reinterpret_cast<decltype(&::hipMalloc)>(found)(&block, small), 0);
  EXPECT_EQ(counts().allocations - before.allocations, 1U);
  EXPECT_EQ(HIP(hipFree)(block), 0);
  EXPECT_NE(HIP(hipGetProcAddress)("hipNoSuchThing", &found, 70000000, 0, nullptr), 0);
  EXPECT_EQ(::dlsym(RTLD_DEFAULT, "hipNoSuchThing"), nullptr);
  EXPECT_NE(::dlerror(), nullptr);
}

TEST_F(Hip, next_means_after_the_library_that_asks) {
  // The preloaded library, whichever it is: it stands between this program and the runtime.
  Dl_info found{};
  ASSERT_NE(::dladdr(::dlsym(RTLD_NEXT, "hipMalloc"), &found), 0)
      << "it was looked for behind the preloaded library";
  EXPECT_THAT(found.dli_fname, HasSubstr("libheadroom_"));
}

TEST_F(Hip, a_forked_child_cannot_free_its_parents_blocks) {
  void* const block = take();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(HIP(hipFree)(block) == 0 ? 1 : 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(HIP(hipFree)(block), 0);
}

// The child inherits the locks of threads that it does not have.
TEST_F(Hip, a_fork_while_other_threads_allocate_leaves_a_child_that_does_not_hang) {
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    while (!is_over) EXPECT_EQ(HIP(hipFree)(take()), 0);
  });
  void* const block = take();
  for (int i = 0; i < 50; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      ::_exit(HIP(hipFree)(block) == 0 ? 1 : 0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  is_over = true;
  other.join();
  EXPECT_EQ(HIP(hipFree)(block), 0);
}

TEST_F(Hip, no_bytes_and_foreign_memory_are_the_runtimes_and_too_many_bytes_do_not_fit) {
  const auto before = counts();
  void* block = &block;
  EXPECT_EQ(HIP(hipMalloc)(&block, 0), 0);
  EXPECT_EQ(block, nullptr);
  EXPECT_EQ(HIP(hipMalloc)(&block, ~std::size_t{0}), out_of_memory);
  EXPECT_EQ(HIP(hipMalloc)(&block, std::size_t{1} << 63U), out_of_memory);
  EXPECT_EQ(HIP(hipMallocManaged)(&block, small, 1), 0);
  EXPECT_EQ(HIP(hipFree)(block), 0);
  EXPECT_EQ(HIP(hipExtMallocWithFlags)(&block, small, 1), 0) << "fine-grained";
  EXPECT_EQ(HIP(hipFree)(block), 0);
  EXPECT_EQ(counts().allocations, before.allocations);
  EXPECT_EQ(HIP(hipExtMallocWithFlags)(&block, small, 0), 0);
  EXPECT_EQ(counts().allocations, before.allocations + 1);
  EXPECT_EQ(HIP(hipFree)(block), 0);
  int local = 0;
  EXPECT_NE(HIP(hipFree)(&local), 0);
  EXPECT_NE(HIP(hipGetLastError)(), 0);
}

TEST_F(Hip, a_block_is_not_shared_with_other_processes) {
  char handle[64];
  void* const block = take();
  EXPECT_EQ(HIP(hipIpcGetMemHandle)(handle, block), not_supported);
  EXPECT_EQ(HIP(hipGetLastError)(), not_supported);
  EXPECT_EQ(HIP(hipFree)(block), 0);
}

TEST_F(Hip, after_a_reset_of_the_device_there_is_a_new_allocator) {
  ASSERT_EQ(HIP(hipSetDevice)(1), 0);
  take();
  ASSERT_EQ(HIP(hipDeviceReset)(), 0);
  EXPECT_EQ(HIP(fake_gpu_count)(1, "plain_bytes"), 0U);
  void* const block = take();
  write(block, 3);
  EXPECT_THAT(read(block), Each(3));
  EXPECT_EQ(HIP(hipFree)(block), 0);
  EXPECT_EQ(HIP(hipSetDevice)(0), 0);
}

// With HEADROOM_ALLOCATOR_GUARD=16MiB, on a GPU of 64 MiB.
TEST(HipGuarded, what_has_to_stay_is_neither_told_of_nor_given) {
  std::size_t free = 0;
  std::size_t total = 0;
  void* const first = take(4 * mib);
  ASSERT_EQ(HIP(hipMemGetInfo)(&free, &total), 0);
  EXPECT_EQ(free, 44 * mib);
  void* const rest = take(44 * mib);
  void* more = nullptr;
  EXPECT_NE(HIP(hipMalloc)(&more, 2 * mib), 0);
  EXPECT_EQ(HIP(hipFree)(rest), 0);
  EXPECT_EQ(HIP(hipFree)(first), 0);
}

// Here the settings make no sense.
TEST(HipUnserved, the_runtime_serves_and_one_line_says_so) {
  EXPECT_EQ(HIP(hipSetDevice)(0), 0);
  ::testing::internal::CaptureStderr();
  void* const first = take();
  void* const second = take();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("headroom: GPU 0: hipMalloc is the runtime's own: "));
  EXPECT_THAT(said, HasSubstr("HEADROOM_ALLOCATOR_CAPACITY"));
  EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
  EXPECT_EQ(counts().passed_on, 2U);
  EXPECT_EQ(HIP(hipFree)(first), 0);
  EXPECT_EQ(HIP(hipFree)(second), 0);
  EXPECT_EQ(counts().frees, 0U);
}

// Here PyTorch's allocator is headroom's already.
TEST(HipBesideTorch, everything_is_left_to_the_runtime) {
  EXPECT_EQ(HIP(hipSetDevice)(0), 0);
  void* const block = take();
  if (::getenv("HEADROOM_HIP_LIBRARY") != nullptr) {
    EXPECT_EQ(::dlopen("libheadroom_hip.so", RTLD_NOW | RTLD_NOLOAD), nullptr) << "not needed here";
  } else {
    EXPECT_EQ(counts().allocations, 0U);
    EXPECT_EQ(counts().passed_on, 1U);
  }
  EXPECT_EQ(HIP(hipFree)(block), 0);
  EXPECT_EQ(HIP(fake_gpu_count)(0, "plain_bytes"), 0U);
}

// preload_test.py runs this one, where libheadroom_hip.so cannot be opened.
TEST(HipOfTheRuntime, every_function_is_the_runtimes_own) {
  EXPECT_EQ(HIP(hipSetDevice)(0), 0);
  void* const block = take();
  EXPECT_EQ(HIP(fake_gpu_count)(0, "plain_bytes"), small);
  EXPECT_EQ(HIP(hipFree)(block), 0);
  EXPECT_EQ(HIP(fake_gpu_count)(0, "plain_bytes"), 0U);
  EXPECT_EQ(HIP(hipGetLastError)(), 0);
}

}  // namespace
