// SPDX-License-Identifier: Apache-2.0
// Memory of the machine for what an APU's pool has no room for, where HEADROOM_ALLOCATOR_HOST names
// an amount: 32 MiB here, beside a pool of 64.
#include "faces/hip_test.h"

namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

std::string said_by_the_first_block(void** block, std::size_t bytes) {
  EXPECT_EQ(HIP(hipSetDevice)(0), 0);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(HIP(hipMalloc)(block, bytes), 0);
  return ::testing::internal::GetCapturedStderr();
}

// With FAKE_GPU_INTEGRATED=1.
TEST(HipBeyond, the_pool_comes_first_then_the_amount_and_then_it_is_out_of_memory) {
  void* of_pool = nullptr;
  const std::string said = said_by_the_first_block(&of_pool, 56 * mib);
  EXPECT_THAT(said, AllOf(HasSubstr("headroom: GPU 0: "), HasSubstr("32.0 MiB"),
                          HasSubstr("more slowly"), HasSubstr("control group")));
  for (int round = 0; round < 3; ++round) {
    const auto before = counts();
    const auto taken = HIP(fake_gpu_count)(0, "plain_bytes");
    void* const beyond = take(20 * mib);
    ASSERT_NE(beyond, nullptr);
    EXPECT_EQ(HIP(fake_gpu_count)(0, "plain_bytes"), taken) << "it is not of the pool";
    EXPECT_EQ(HIP(hipGetLastError)(), 0);
    write(beyond, 7);
    void* more = &more;
    EXPECT_EQ(HIP(hipMalloc)(&more, 20 * mib), out_of_memory);
    EXPECT_EQ(more, nullptr);
    EXPECT_EQ(HIP(hipGetLastError)(), out_of_memory);
    EXPECT_THAT(read(beyond), Each(7));
    EXPECT_EQ(round == 0 ? HIP(hipFreeAsync)(beyond, nullptr) : HIP(hipFree)(beyond), 0);
    EXPECT_NE(HIP(hipFree)(beyond), 0) << "a second free";
    static_cast<void>(HIP(hipGetLastError)());
    const auto after = counts();
    EXPECT_EQ(after.allocations - before.allocations, 1U);
    EXPECT_EQ(after.frees - before.frees, 1U);
    EXPECT_EQ(after.out_of_memory - before.out_of_memory, 1U);
  }
  EXPECT_EQ(HIP(hipFree)(of_pool), 0);
}

TEST(HipBeyondNothing, a_gpu_with_memory_of_its_own_has_no_such_route_and_one_line_says_so) {
  void* of_pool = nullptr;
  EXPECT_THAT(said_by_the_first_block(&of_pool, 56 * mib), HasSubstr("expected an APU"));
  void* more = nullptr;
  EXPECT_EQ(HIP(hipMalloc)(&more, 20 * mib), out_of_memory);
  EXPECT_EQ(HIP(hipFree)(of_pool), 0);
}

// Where the guard keeps more of RAM than there is: the pool refuses, and this is no way around it.
TEST(HipBeyondGuard, what_the_guard_keeps_of_ram_is_not_taken) {
  EXPECT_EQ(HIP(hipSetDevice)(0), 0);
  void* block = nullptr;
  EXPECT_EQ(HIP(hipMalloc)(&block, 20 * mib), out_of_memory);
}

}  // namespace
