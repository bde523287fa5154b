// SPDX-License-Identifier: Apache-2.0
// What others hold of a GPU, in the report of an out of memory: as the driver counts it, or why
// nobody knows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "allocator/backends/device_backend.h"
#include "allocator/backends/host.h"
#include "allocator/backends/testing/fake_driver.h"
#include "allocator/headroom/headroom_allocator.h"
#include "allocator/simulated_backend.h"
#include "allocator/testing/faulty_backend.h"

namespace headroom::allocator {
namespace {

using testing::FakeDriver;
using testing::Fault;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

// A GPU of 512 MiB, and an allocator that holds 96 MiB of it.
class OutsideMemoryTest : public ::testing::Test {
 protected:
  void open(Fault fault) {
    allocator_.reset();  // Before what it uses.
    auto driver = std::make_unique<FakeDriver>(fault);
    driver_ = driver.get();
    backend_ = std::make_unique<DeviceBackend>(std::move(driver));
    allocator_ = std::make_unique<HeadroomAllocator>(*backend_, 128 * mib);
    ASSERT_TRUE(allocator_->allocate({96 * mib}));
  }

  FakeDriver* driver_ = nullptr;
  std::unique_ptr<DeviceBackend> backend_;
  std::unique_ptr<HeadroomAllocator> allocator_;
};

TEST_F(OutsideMemoryTest, is_what_is_neither_free_nor_ours) {
  open(Fault::none);
  ASSERT_TRUE(driver_->allocate(300 * mib).has_value());  // Another process.
  const OutOfMemory problem = allocator_->explain({64 * mib});
  ASSERT_TRUE(problem.outside);
  EXPECT_EQ(problem.outside->held_bytes, 300 * mib);
  EXPECT_EQ(problem.outside->total_bytes, 512 * mib);
  EXPECT_THAT(to_text(problem), HasSubstr("held outside this process: 300.0 MiB of the device's "
                                          "512.0 MiB, says the fake driver"));
}

TEST_F(OutsideMemoryTest, is_asked_for_once_for_each_report_and_never_else) {
  open(Fault::none);
  EXPECT_FALSE(allocator_->allocate({64 * mib}));
  EXPECT_EQ(driver_->memory_info_calls(), 0U);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    static_cast<void>(allocator_->explain({64 * mib}));
    EXPECT_EQ(driver_->memory_info_calls(), i);
  }
}

TEST_F(OutsideMemoryTest, is_not_known_where_the_driver_fails_or_cannot_be_right) {
  for (const auto& [fault, said] :
       {std::pair{Fault::memory_info_refused, "the device is lost"},
        std::pair{Fault::memory_info_inconsistent, "928.0 MiB of 512.0 MiB (the fake driver)"}}) {
    open(fault);
    const OutOfMemory problem = allocator_->explain({64 * mib});
    EXPECT_FALSE(problem.outside);
    ASSERT_TRUE(problem.no_outside);
    EXPECT_THAT(problem.no_outside->message, HasSubstr(said));
    EXPECT_THAT(to_text(problem), HasSubstr("held outside this process: not known: "));
  }
}

TEST_F(OutsideMemoryTest, has_none_of_the_pages_that_this_process_keeps) {
  auto driver = std::make_unique<FakeDriver>(Fault::memory_not_returned);
  DeviceBackend backend(
      std::move(driver),
      VirtualMemoryVerdict{VirtualMemoryVerdict::Use::yes, "", {.virtual_memory = true}});
  ASSERT_TRUE(backend.reserve_range(8 * mib).has_value());
  const PageHandle page = *backend.create_pages(1);
  EXPECT_EQ(backend.device_memory()->free_bytes, 510 * mib);
  ASSERT_TRUE(backend.destroy_pages(page).has_value());  // Which keeps it for the next.
  EXPECT_EQ(backend.device_memory()->free_bytes, 512 * mib);
}

TEST(NoOutsideMemory, where_nobody_counts_the_report_says_why_to_programs_alone) {
  auto host = *HostBackend::create();
  SimulatedBackend simulated;
  for (Backend* backend : std::initializer_list<Backend*>{host.get(), &simulated}) {
    const HeadroomAllocator allocator(*backend, 8 * mib);
    const OutOfMemory problem = allocator.explain({16 * mib});
    EXPECT_FALSE(problem.outside);
    ASSERT_TRUE(problem.no_outside);
    EXPECT_EQ(problem.no_outside->message, "no driver counts this memory");
    EXPECT_THAT(to_text(problem), Not(HasSubstr("outside")));
  }
}

TEST(NoOutsideMemory, a_fault_of_the_asking_does_not_hide_the_rest) {
  SimulatedBackend device;
  FaultyBackend faulty(device);
  faulty.fail(BackendCall::device_memory, 1);
  const HeadroomAllocator allocator(faulty, 8 * mib);
  const OutOfMemory problem = allocator.explain({16 * mib});
  EXPECT_FALSE(problem.outside);
  EXPECT_TRUE(problem.heap);
  EXPECT_FALSE(problem.device) << "this is no refusal of memory";
}

}  // namespace
}  // namespace headroom::allocator
