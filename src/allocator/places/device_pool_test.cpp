// SPDX-License-Identifier: Apache-2.0
#include "allocator/places/device_pool.h"

#include <gtest/gtest.h>

#include "allocator/simulated_backend.h"
#include "allocator/testing/faulty_backend.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

class Pool : public testing::Test {
 protected:
  SimulatedBackend device_;
  FaultyBackend faulty_{device_};
  DevicePool pool_{faulty_, 17 * mib};  // Eight pages.
};

TEST_F(Pool, pages_and_plain_allocations_share_the_capacity) {
  const std::uint64_t range = *pool_.reserve_range(64 * mib);
  const auto plain = pool_.allocate(10 * mib);
  ASSERT_TRUE(plain.has_value());
  for (std::uint64_t i = 0; i < 3; ++i)
    EXPECT_TRUE(pool_.map(range + i * page_bytes, 1).has_value());
  EXPECT_EQ(pool_.spare(), 0U);
  const auto page = pool_.map(range + 3 * page_bytes, 1);
  ASSERT_FALSE(page.has_value());
  EXPECT_EQ(page.error().code, Errc::out_of_memory);
  EXPECT_FALSE(pool_.allocate(2 * mib).has_value());
  EXPECT_EQ(pool_.totals().reserved_bytes, 16 * mib);
  ASSERT_TRUE(pool_.release(*plain, 10 * mib).has_value());
  EXPECT_EQ(pool_.totals().reserved_bytes, 6 * mib);
  EXPECT_EQ(pool_.totals().reserved_peak_bytes, 16 * mib);
  EXPECT_EQ(pool_.spare(), 5U);
  EXPECT_TRUE(pool_.allocate(10 * mib).has_value());
}

TEST_F(Pool, an_absurd_size_is_refused_without_asking_the_device) {
  EXPECT_FALSE(pool_.allocate(UINT64_MAX / page_bytes * page_bytes).has_value());
  EXPECT_EQ(pool_.totals().device_calls, 0U);
}

TEST_F(Pool, a_refused_call_changes_no_figure_but_the_count) {
  faulty_.fail(BackendCall::allocate, 2);
  faulty_.fail(BackendCall::release, 1);
  const std::uint64_t plain = *pool_.allocate(4 * mib);
  EXPECT_FALSE(pool_.allocate(4 * mib).has_value());
  EXPECT_FALSE(pool_.release(plain, 4 * mib).has_value());
  EXPECT_EQ(pool_.totals().reserved_bytes, 4 * mib);
  EXPECT_EQ(pool_.totals().device_calls, 3U);
  ASSERT_TRUE(pool_.last_error().has_value());
  EXPECT_TRUE(pool_.release(plain, 4 * mib).has_value());
  EXPECT_EQ(pool_.totals().reserved_bytes, 0U);
}

TEST(SmallDevice, a_shortage_that_is_over_is_no_reason_any_more) {
  SimulatedBackend device(4);
  DevicePool pool(device, 64 * mib);
  EXPECT_FALSE(pool.allocate(16 * mib).has_value());
  ASSERT_TRUE(pool.last_error().has_value());
  EXPECT_EQ(pool.last_error()->code, Errc::out_of_memory);
  ASSERT_TRUE(pool.allocate(2 * mib).has_value());
  EXPECT_FALSE(pool.last_error().has_value());
}

TEST_F(Pool, an_event_passes_when_its_stream_was_waited_for) {
  const EventId event = *pool_.record(3);
  EXPECT_FALSE(pool_.passed(event, 3, false));
  ASSERT_TRUE(pool_.wait_for(4).has_value());
  EXPECT_FALSE(pool_.passed(event, 3, false));
  ASSERT_TRUE(pool_.wait_for(3).has_value());
  EXPECT_TRUE(pool_.passed(event, 3, false));
  EXPECT_TRUE(pool_.passed(*pool_.record(3), 3, true)) << "it waits where it may";
}

// Memory that queued work may still touch must not be reused because the device refused to wait.
TEST_F(Pool, what_could_not_be_waited_for_has_not_passed) {
  const EventId event = *pool_.record(3);
  faulty_.fail(BackendCall::wait, 1);
  EXPECT_FALSE(pool_.passed(event, 3, true));
  EXPECT_TRUE(pool_.passed(event, 3, true)) << "the second wait succeeds";
}

TEST_F(Pool, an_event_that_cannot_be_asked_about_is_waited_for) {
  const EventId event = *pool_.record(3);
  faulty_.fail(BackendCall::passed, 1, 2);
  faulty_.fail(BackendCall::wait, 1);
  EXPECT_FALSE(pool_.passed(event, 3, false)) << "neither asked nor waited";
  EXPECT_TRUE(pool_.passed(event, 3, false));
}

TEST_F(Pool, a_busy_stream_is_asked_about_the_same_event_until_it_passes) {
  EXPECT_FALSE(pool_.is_idle(5));
  EXPECT_FALSE(pool_.is_idle(5));
  EXPECT_FALSE(pool_.is_idle(5));
  EXPECT_EQ(faulty_.calls(BackendCall::record), 1U);
  faulty_.fail(BackendCall::record, 2);
  ASSERT_TRUE(pool_.wait_for(5).has_value());
  EXPECT_FALSE(pool_.is_idle(5)) << "that event has passed, and no later one could be recorded";
}

TEST_F(Pool, pages_go_back_at_the_end) {
  {
    DevicePool pool(device_, 16 * mib);
    const std::uint64_t range = *pool.reserve_range(8 * mib);
    const DevicePool::Pages pages = *pool.map(range, 1);
    ASSERT_TRUE(pool.unmap(range, pages).has_value());
    EXPECT_EQ(pool.totals().unmapped_pages, 1U);
    EXPECT_EQ(device_.table().pages(), 1U);
  }
  EXPECT_EQ(device_.table().pages(), 0U);
}

TEST_F(Pool, a_handle_has_as_many_pages_as_are_wanted_and_allowed) {
  const std::uint64_t range = *pool_.reserve_range(64 * mib);
  EXPECT_EQ(pool_.map(range, 4)->count, 1U);
  EXPECT_EQ(pool_.map(range + page_bytes, 5, 32)->count, 4U) << "the largest power of two";
  EXPECT_EQ(pool_.map(range + 5 * page_bytes, 100, 32)->count, 2U) << "no more than the capacity";
  EXPECT_EQ(pool_.map(range + 7 * page_bytes, 100, 32)->count, 1U);
  EXPECT_FALSE(pool_.map(range + 8 * page_bytes, 1).has_value());
  EXPECT_EQ(pool_.totals().reserved_bytes, 16 * mib);
  EXPECT_EQ(device_.table().mapped_pages(), 8U);
}

TEST_F(Pool, what_grows_after_the_first_iteration_takes_whole_handles_while_there_is_room) {
  const auto multiple = [&](std::uint64_t wanted) {
    return pool_.growth(wanted, 0, false).multiple;
  };
  EXPECT_EQ(multiple(5), 1U);
  EXPECT_EQ(pool_.growth(5, 0, false).per_handle, 1U);
  pool_.use_large_handles(32);
  EXPECT_EQ(multiple(1), 1U);
  EXPECT_EQ(multiple(5), 8U);
  EXPECT_EQ(pool_.growth(5, 0, true).multiple, 1U) << "small blocks are few";
  const std::uint64_t range = *pool_.reserve_range(64 * mib);
  ASSERT_EQ(pool_.map(range, 2, 2)->count, 2U);
  EXPECT_EQ(multiple(3), 4U);
  EXPECT_EQ(multiple(5), 1U) << "eight more than two are not there";
  EXPECT_EQ(pool_.growth(5, 0, false).per_handle, 32U);
  pool_.use_large_handles(3);
  EXPECT_EQ(multiple(5), 2U) << "a power of two";
}

TEST_F(Pool, a_few_free_pages_are_not_memory_in_pieces) {
  DevicePool pool(device_, 1024 * page_bytes);
  ASSERT_EQ(pool.map(*pool.reserve_range(32 * page_bytes), 32, 32)->count, 32U);
  EXPECT_FALSE(pool.growth(1, 3, false).is_scattered);
  EXPECT_TRUE(pool.growth(1, 4, false).is_scattered);
}

TEST_F(Pool, what_grows_although_much_is_free_takes_smaller_handles_the_less_room_there_is) {
  DevicePool pool(device_, 1024 * page_bytes);
  const std::uint64_t range = *pool.reserve_range(1024 * page_bytes);
  ASSERT_EQ(pool.map(range, 128, 128)->count, 128U);
  pool.use_large_handles(32);
  EXPECT_EQ(pool.growth(16, 4, false).per_handle, 32U) << "a 32nd of what is held";
  EXPECT_EQ(pool.growth(16, 5, false).per_handle, 4U);
  EXPECT_EQ(pool.growth(16, 5, false).multiple, 4U);
  pool.set_capacity(350 * page_bytes);
  EXPECT_EQ(pool.growth(16, 5, false).per_handle, 1U);
  EXPECT_EQ(pool.growth(16, 5, false).multiple, 1U);
  EXPECT_EQ(pool.growth(16, 4, false).per_handle, 32U);
}

TEST_F(Pool, a_handle_that_has_become_too_large_is_broken_up) {
  const std::uint64_t range = *pool_.reserve_range(64 * mib);
  const DevicePool::Pages large = *pool_.map(range, 8, 8);
  ASSERT_EQ(large.count, 8U);
  ASSERT_TRUE(pool_.unmap(range, large).has_value());
  EXPECT_EQ(pool_.spare(), 8U);
  EXPECT_EQ(pool_.map(range, 3, 8)->count, 2U);
  EXPECT_EQ(pool_.spare(), 6U);
  EXPECT_EQ(faulty_.calls(BackendCall::destroy), 1U);
  EXPECT_EQ(pool_.totals().reserved_bytes, 4 * mib) << "the rest is the device's until asked for";
  EXPECT_EQ(pool_.map(range + 2 * page_bytes, 6, 8)->count, 4U);
  EXPECT_EQ(pool_.map(range + 6 * page_bytes, 2, 8)->count, 2U);
  EXPECT_EQ(pool_.spare(), 0U);
}

TEST_F(Pool, a_handle_that_cannot_be_broken_up_is_an_error_and_stays) {
  const std::uint64_t range = *pool_.reserve_range(64 * mib);
  const DevicePool::Pages large = *pool_.map(range, 8, 8);
  ASSERT_TRUE(pool_.unmap(range, large).has_value());
  faulty_.fail(BackendCall::destroy, 1);
  EXPECT_FALSE(pool_.map(range, 3, 8).has_value());
  EXPECT_EQ(pool_.totals().unmapped_pages, 8U);
  EXPECT_EQ(pool_.map(range, 3, 8)->count, 2U);
}

TEST_F(Pool, a_device_without_that_much_in_one_piece_is_asked_for_less) {
  const std::uint64_t range = *pool_.reserve_range(64 * mib);
  faulty_.fail(BackendCall::create, 1, 2);
  EXPECT_EQ(pool_.map(range, 8, 8)->count, 2U);
  faulty_.fail(BackendCall::create, 4, 3);
  EXPECT_FALSE(pool_.map(range + 2 * page_bytes, 4, 8).has_value());
  EXPECT_EQ(pool_.spare(), 0U) << "refused, until it is asked again";
  pool_.retry_creation();
  EXPECT_EQ(pool_.map(range + 2 * page_bytes, 4, 8)->count, 4U);
}

TEST_F(Pool, less_capacity_takes_back_what_is_unmapped) {
  const std::uint64_t range = *pool_.reserve_range(64 * mib);
  const DevicePool::Pages four = *pool_.map(range, 4, 4);
  ASSERT_TRUE(pool_.map(range + 4 * page_bytes, 2, 2).has_value());
  ASSERT_TRUE(pool_.unmap(range, four).has_value());
  pool_.set_capacity(6 * mib);
  EXPECT_EQ(pool_.totals().reserved_bytes, 4 * mib);
  EXPECT_EQ(pool_.map(range, 4, 4)->count, 1U);
}

// A handle that would not go back when the capacity became less goes back later, and may not be
// enough for anything new.
TEST_F(Pool, handles_that_are_too_large_go_back_until_the_capacity_has_room_for_a_page) {
  const std::uint64_t range = *pool_.reserve_range(64 * mib);
  const DevicePool::Pages first = *pool_.map(range, 4, 4);
  const DevicePool::Pages second = *pool_.map(range + 4 * page_bytes, 4, 4);
  ASSERT_TRUE(pool_.unmap(range, first) && pool_.unmap(range + 4 * page_bytes, second));
  faulty_.fail(BackendCall::destroy, 1);
  pool_.set_capacity(4 * mib);
  ASSERT_EQ(pool_.totals().reserved_bytes, 16 * mib);
  const auto pages = pool_.map(range, 1);
  ASSERT_TRUE(pages.has_value()) << pages.error().message;
  EXPECT_EQ(pages->count, 1U);
  EXPECT_EQ(pool_.totals().reserved_bytes, 2 * mib);
}

TEST(PoolWithoutReturn, keeps_to_single_pages_where_destroying_returns_nothing) {
  Capabilities kept = SimulatedBackend::assumed_capabilities();
  kept.destroy_returns_memory = false;
  SimulatedBackend device(64, kept);
  DevicePool pool(device, 64 * mib);
  pool.use_large_handles(32);
  EXPECT_EQ(pool.growth(16, 0, false).multiple, 1U);
  EXPECT_EQ(pool.growth(16, 0, false).per_handle, 1U);
}

}  // namespace
}  // namespace headroom::allocator
