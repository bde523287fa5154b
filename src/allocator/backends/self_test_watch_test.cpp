// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/self_test_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "allocator/backends/device_backend.h"
#include "allocator/backends/driver_access.h"
#include "allocator/backends/testing/fake_driver.h"

namespace headroom::allocator {
namespace {

using testing::Fault;
using ::testing::HasSubstr;

Result<SelfTestReport> watch(Fault fault, std::uint64_t timeout_ms) {
  return run_watched_self_test(
      [fault]() -> Result<SelfTestSubject> {
        HEADROOM_TRY(auto backend,
                     DeviceBackend::on_trial(std::make_unique<testing::FakeDriver>(fault)));
        auto access = std::make_unique<DriverAccess>(backend->driver());
        return SelfTestSubject{std::move(backend), std::move(access)};
      },
      {}, timeout_ms);
}

TEST(WatchedSelfTest, hands_over_the_childs_report) {
  const auto report = watch(Fault::none, 60'000);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(report->passed) << to_text(*report);
  EXPECT_TRUE(report->measured.virtual_memory);
  EXPECT_GT(report->measured.costs.map, 0U);
}

TEST(WatchedSelfTest, a_driver_that_hangs_is_refused) {
  const auto report = watch(Fault::hang, 2'000);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_FALSE(report->passed);
  ASSERT_FALSE(report->steps.empty());
  EXPECT_EQ(report->steps.back().name, "settling");
  EXPECT_THAT(report->steps.back().found, HasSubstr("within 2 s"));
  EXPECT_TRUE(report->steps.front().passed);
  EXPECT_TRUE(report->steps.front().took_ns) << "it ended";
  EXPECT_FALSE(report->steps.back().took_ns) << "it did not";
}

TEST(WatchedSelfTest, a_driver_that_ends_the_process_is_refused) {
  const auto report = watch(Fault::crash, 60'000);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_FALSE(report->passed);
  ASSERT_FALSE(report->steps.empty());
  EXPECT_EQ(report->steps.back().name, "settling");
  EXPECT_THAT(report->steps.back().found, HasSubstr("was ended"));
}

TEST(WatchedSelfTest, what_a_driver_says_when_it_dies_is_kept_and_not_shown) {
  ::testing::internal::CaptureStderr();
  const auto report = run_watched_self_test(
      []() -> Result<SelfTestSubject> {
        std::fputs("loading\nMemory access fault by GPU node-1\n\n", stderr);
        std::abort();
      },
      {}, 60'000);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->steps.back().name, "opening the driver");
  EXPECT_THAT(report->steps.back().found, HasSubstr("it said: Memory access fault by GPU node-1"));
}

TEST(WatchedSelfTest, a_fault_that_was_found_is_reported_as_it_was) {
  const auto report = watch(Fault::live_data_zeroed, 60'000);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_FALSE(report->passed);
  EXPECT_EQ(report->steps.back().name, "live data");
}

TEST(WatchedSelfTest, where_there_is_no_gpu_nothing_was_tested) {
  const auto report = run_watched_self_test(
      []() -> Result<SelfTestSubject> {
        return Error{Errc::unsupported, "no such GPU", "headroom check"};
      },
      {}, 60'000);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().code, Errc::unsupported);
  EXPECT_THAT(report.error().message, HasSubstr("no such GPU"));
}

}  // namespace
}  // namespace headroom::allocator
