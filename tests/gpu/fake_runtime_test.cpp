// SPDX-License-Identifier: Apache-2.0
// What the drivers leave as they found it: the thread's device or context, its capture mode and
// HIP's last error. On stand-ins for the vendors' libraries, which CMake names in LD_LIBRARY_PATH.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "allocator/backends/cuda_api.h"
#include "allocator/backends/cuda_driver.h"
#include "allocator/backends/hip_api.h"
#include "allocator/backends/hip_driver.h"

namespace headroom::allocator {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

bool is_stand_in(const Result<std::unique_ptr<Driver>>& driver) {
  return driver && (*driver)->gpu_name().value_or("") == "a fake GPU";
}

class HipDriverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_hip(1);
    if (!is_stand_in(opened)) GTEST_SKIP() << "LD_LIBRARY_PATH does not name the stand-in for HIP";
    driver_ = *std::move(opened);
    api_ = *HipApi::load();
    ASSERT_EQ(api_.set_device(0), HipApi::success);
    static_cast<void>(api_.take_last_error());
  }
  int device() const {
    int device = -1;
    EXPECT_EQ(api_.get_device(&device), HipApi::success);
    return device;
  }

  std::unique_ptr<Driver> driver_;
  HipApi api_;
};

TEST_F(HipDriverTest, works_on_its_own_device_and_puts_the_threads_back) {
  EXPECT_TRUE(driver_->create_pages(2 * mib).has_value()) << "which the stand-in holds to device 1";
  EXPECT_EQ(device(), 0);
  EXPECT_TRUE(driver_->allocate(2 * mib).has_value());
  EXPECT_EQ(device(), 0);
  EXPECT_FALSE(driver_->release(12345).has_value());
  EXPECT_EQ(device(), 0);
}

TEST_F(HipDriverTest, failures_leave_no_last_error_and_take_none_away) {
  EXPECT_FALSE(driver_->release(12345).has_value());
  EXPECT_EQ(api_.peek_last_error(), HipApi::success);
  const std::uintptr_t event = *driver_->create_event();
  ASSERT_TRUE(driver_->record_event(event, 0).has_value());
  EXPECT_FALSE(*driver_->event_passed(event)) << "which HIP counts as an error";
  EXPECT_EQ(api_.peek_last_error(), HipApi::success);

  const std::uintptr_t no_block = 12345;
  ASSERT_NE(api_.release(reinterpret_cast<void*>(no_block)), HipApi::success);  // Not headroom's.
  EXPECT_FALSE(driver_->release(12345).has_value());
  EXPECT_TRUE(driver_->memory_info().has_value());
  EXPECT_NE(api_.peek_last_error(), HipApi::success);
}

TEST_F(HipDriverTest, another_threads_capture_is_not_disturbed_and_its_mode_is_kept) {
  int mode = 1;  // hipStreamCaptureModeThreadLocal
  ASSERT_EQ(api_.exchange_capture_mode(&mode), HipApi::success);
  EXPECT_TRUE(driver_->allocate(2 * mib).has_value());
  mode = 0;
  ASSERT_EQ(api_.exchange_capture_mode(&mode), HipApi::success);
  EXPECT_EQ(mode, 1);
}

TEST_F(HipDriverTest, errors_say_what_was_asked_and_what_hip_said) {
  const auto refused = driver_->allocate(std::uint64_t{1} << 40U);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::out_of_memory);
  EXPECT_THAT(refused.error().message, HasSubstr("allocating (1.00 TiB) on GPU 1"));
  EXPECT_THAT(refused.error().message, HasSubstr("hipErrorOutOfMemory"));
  EXPECT_THAT(refused.error().next, HasSubstr("headroom check"));
}

TEST_F(HipDriverTest, a_gpu_that_is_not_there_is_unsupported) {
  const auto none = open_hip(2);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, Errc::unsupported);
  EXPECT_THAT(none.error().message, HasSubstr("expected GPU 2, found 2 of them"));
}

TEST(CudaDriverTest, works_in_its_own_context_and_leaves_the_threads) {
  auto opened = open_cuda(1);
  if (!is_stand_in(opened)) GTEST_SKIP() << "LD_LIBRARY_PATH does not name the stand-in for CUDA";
  const CudaApi api = *CudaApi::load();
  CudaApi::Context others{};
  ASSERT_EQ(api.retain_context(&others, 0), CudaApi::success);
  ASSERT_EQ(api.push_context(others), CudaApi::success);
  EXPECT_TRUE((*opened)->create_pages(2 * mib).has_value());
  EXPECT_FALSE((*opened)->release(12345).has_value());
  CudaApi::Context found{};
  ASSERT_EQ(api.current_context(&found), CudaApi::success);
  EXPECT_EQ(found, others);
  int mode = 0;
  ASSERT_EQ(api.exchange_capture_mode(&mode), CudaApi::success);
  EXPECT_EQ(mode, 0);
  opened->reset();
  EXPECT_NE(api.release_context(1), CudaApi::success) << "its own reference is given back";
  const auto none = open_cuda(2);
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().message, HasSubstr("expected GPU 2, found 2 of them"));
}

}  // namespace
}  // namespace headroom::allocator
