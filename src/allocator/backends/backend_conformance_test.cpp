// SPDX-License-Identifier: Apache-2.0
// One suite for every backend: what Backend promises, and what the allocator on top of it keeps.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "allocator/backend.h"
#include "allocator/backends/cuda_driver.h"
#include "allocator/backends/device_backend.h"
#include "allocator/backends/driver_access.h"
#include "allocator/backends/hip_driver.h"
#include "allocator/backends/host.h"
#include "allocator/backends/host_access.h"
#include "allocator/backends/testing/fake_driver.h"
#include "allocator/headroom/headroom_allocator.h"
#include "allocator/simulated_backend.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

// A backend, and its contents where it has any.
struct Subject {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<DeviceAccess> access;
};

struct Kind {
  std::string name;
  Result<Subject> (*make)();
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

Result<Subject> make_simulated() {
  return Subject{std::make_unique<SimulatedBackend>(), nullptr};
}

Result<Subject> make_simulated_plain() {
  return Subject{std::make_unique<SimulatedBackend>(std::uint64_t{1} << 20U,
                                                    SimulatedBackend::without_virtual_memory()),
                 nullptr};
}

Result<Subject> make_host_with(HostBackend::VirtualMemory virtual_memory) {
  HEADROOM_TRY(auto backend, HostBackend::create(virtual_memory));
  auto access = std::make_unique<HostAccess>(*backend);
  return Subject{std::move(backend), std::move(access)};
}

Result<Subject> make_host() {
  return make_host_with(HostBackend::VirtualMemory::on);
}

Result<Subject> make_host_plain() {
  return make_host_with(HostBackend::VirtualMemory::off);
}

Result<Subject> make_device(Result<std::unique_ptr<Driver>> driver) {
  if (!driver) return std::move(driver).error();
  HEADROOM_TRY(auto backend, DeviceBackend::on_trial(*std::move(driver)));
  auto access = std::make_unique<DriverAccess>(backend->driver());
  return Subject{std::move(backend), std::move(access)};
}

Result<Subject> make_fake_device() {
  return make_device(std::unique_ptr<Driver>(std::make_unique<testing::FakeDriver>()));
}

Result<Subject> make_fake_device_plain() {
  auto backend = std::make_unique<DeviceBackend>(std::make_unique<testing::FakeDriver>());
  auto access = std::make_unique<DriverAccess>(backend->driver());
  return Subject{std::move(backend), std::move(access)};
}

Result<Subject> make_hip() {
  return make_device(open_hip(0));
}

Result<Subject> make_cuda() {
  return make_device(open_cuda(0));
}

class BackendConformance : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    auto subject = GetParam().make();
    if (!subject && subject.error().code == Errc::unsupported)
      GTEST_SKIP() << subject.error().message;
    ASSERT_TRUE(subject.has_value()) << subject.error().message;
    backend_ = std::move(subject->backend);
    access_ = std::move(subject->access);
  }

  bool has_pages() const { return backend_->capabilities().virtual_memory; }
  bool has_contents() const { return access_ != nullptr; }
  void write(std::uint64_t address, std::uint64_t word) {
    ASSERT_TRUE(access_->write(address, {&word, 1}).has_value());
  }
  std::uint64_t read(std::uint64_t address) {
    std::uint64_t word = 0;
    EXPECT_TRUE(access_->read(address, {&word, 1}).has_value());
    return word;
  }

  std::unique_ptr<Backend> backend_;
  std::unique_ptr<DeviceAccess> access_;  // Null where there are no contents. Ends before it.
};

class PageConformance : public BackendConformance {
 protected:
  void SetUp() override {
    BackendConformance::SetUp();
    if (backend_ != nullptr && !has_pages()) GTEST_SKIP() << "no virtual memory";
  }
};

TEST_P(PageConformance, ranges_are_aligned_and_do_not_overlap) {
  const auto first = backend_->reserve_range(6 * mib);
  const auto second = backend_->reserve_range(8 * mib);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first % page_bytes, 0U);
  EXPECT_EQ(*second % page_bytes, 0U);
  EXPECT_TRUE(*first + 6 * mib <= *second || *second + 8 * mib <= *first);
}

TEST_P(PageConformance, ranges_are_whole_pages_and_not_endless) {
  EXPECT_FALSE(backend_->reserve_range(0).has_value());
  EXPECT_FALSE(backend_->reserve_range(3 * mib).has_value());
  EXPECT_FALSE(backend_->reserve_range(UINT64_MAX / page_bytes * page_bytes).has_value());
}

TEST_P(PageConformance, a_page_is_mapped_once_and_only_into_a_range) {
  const std::uint64_t base = *backend_->reserve_range(4 * mib);
  const PageHandle page = *backend_->create_pages(1);
  const PageHandle other = *backend_->create_pages(1);
  EXPECT_NE(page, other);
  EXPECT_FALSE(backend_->map(base + 512, page).has_value());
  EXPECT_FALSE(backend_->map(base + 4 * mib, page).has_value());
  EXPECT_FALSE(backend_->map(base, other + 1000).has_value());
  ASSERT_TRUE(backend_->map(base, page).has_value());
  EXPECT_FALSE(backend_->map(base, other).has_value());
  EXPECT_FALSE(backend_->map(base + 2 * mib, page).has_value());
}

TEST_P(PageConformance, only_what_is_mapped_is_unmapped_and_the_range_stays) {
  const std::uint64_t base = *backend_->reserve_range(4 * mib);
  const PageHandle page = *backend_->create_pages(1);
  EXPECT_FALSE(backend_->unmap(base).has_value());
  ASSERT_TRUE(backend_->map(base, page).has_value());
  ASSERT_TRUE(backend_->unmap(base).has_value());
  EXPECT_FALSE(backend_->unmap(base).has_value());
  EXPECT_TRUE(backend_->map(base + 2 * mib, page).has_value());
}

TEST_P(PageConformance, only_unmapped_pages_are_destroyed) {
  const std::uint64_t base = *backend_->reserve_range(4 * mib);
  const PageHandle page = *backend_->create_pages(1);
  ASSERT_TRUE(backend_->map(base, page).has_value());
  EXPECT_FALSE(backend_->destroy_pages(page).has_value());
  ASSERT_TRUE(backend_->unmap(base).has_value());
  EXPECT_TRUE(backend_->destroy_pages(page).has_value());
  EXPECT_FALSE(backend_->destroy_pages(page).has_value());
  EXPECT_FALSE(backend_->map(base, page).has_value());
  const PageHandle again = *backend_->create_pages(1);
  EXPECT_TRUE(backend_->map(base, again).has_value());
}

TEST_P(PageConformance, access_is_allowed_to_mapped_pages_only) {
  const std::uint64_t base = *backend_->reserve_range(8 * mib);
  EXPECT_FALSE(backend_->allow_access(base, 2 * mib).has_value());
  ASSERT_TRUE(backend_->map(base, *backend_->create_pages(1)).has_value());
  ASSERT_TRUE(backend_->map(base + 2 * mib, *backend_->create_pages(1)).has_value());
  EXPECT_FALSE(backend_->allow_access(base, 6 * mib).has_value());
  EXPECT_FALSE(backend_->allow_access(base, 0).has_value());
  EXPECT_TRUE(backend_->allow_access(base, 4 * mib).has_value());
  EXPECT_TRUE(backend_->allow_access(base, 4 * mib).has_value()) << "a second time does no harm";
}

TEST_P(PageConformance, contents_follow_the_handle) {
  if (!has_contents()) GTEST_SKIP() << "this backend has no contents";
  const std::uint64_t base = *backend_->reserve_range(8 * mib);
  const std::vector<PageHandle> pages = {*backend_->create_pages(1), *backend_->create_pages(1)};
  ASSERT_TRUE(backend_->map(base, pages[0]) && backend_->map(base + 2 * mib, pages[1]));
  ASSERT_TRUE(backend_->allow_access(base, 4 * mib).has_value());
  write(base, 11);
  write(base + 4 * mib - 8, 22);
  ASSERT_TRUE(backend_->unmap(base) && backend_->unmap(base + 2 * mib));
  ASSERT_TRUE(backend_->map(base + 6 * mib, pages[0]) && backend_->map(base + 4 * mib, pages[1]));
  ASSERT_TRUE(backend_->allow_access(base + 4 * mib, 4 * mib).has_value());
  EXPECT_EQ(read(base + 6 * mib), 11U);
  EXPECT_EQ(read(base + 6 * mib - 8), 22U);
}

TEST_P(PageConformance, several_pages_under_a_handle_are_mapped_and_unmapped_together) {
  if (!backend_->capabilities().several_pages_per_handle) GTEST_SKIP() << "one page to a handle";
  EXPECT_FALSE(backend_->create_pages(0).has_value());
  EXPECT_FALSE(backend_->create_pages(max_pages_per_handle + 1).has_value());
  const std::uint64_t base = *backend_->reserve_range(16 * mib);
  const PageHandle four = *backend_->create_pages(4);
  const PageHandle one = *backend_->create_pages(1);
  EXPECT_TRUE(one < four || one >= four + 4) << "numbers of their own";
  EXPECT_FALSE(backend_->map(base + 10 * mib, four).has_value()) << "it does not fit";
  EXPECT_FALSE(backend_->map(base, four + 1).has_value()) << "a part is no handle";
  ASSERT_TRUE(backend_->map(base + 4 * mib, one).has_value());
  EXPECT_FALSE(backend_->map(base, four).has_value()) << "something is there";
  ASSERT_TRUE(backend_->map(base + 6 * mib, four).has_value());
  ASSERT_TRUE(backend_->allow_access(base + 4 * mib, 10 * mib).has_value());
  EXPECT_FALSE(backend_->unmap(base + 8 * mib).has_value()) << "not from its middle";
  if (has_contents()) {
    for (std::uint64_t i = 0; i < 4; ++i) write(base + 6 * mib + i * page_bytes, 100 + i);
    write(base + 14 * mib - 8, 200);
  }
  ASSERT_TRUE(backend_->unmap(base + 6 * mib).has_value());
  EXPECT_FALSE(backend_->unmap(base + 8 * mib).has_value());
  ASSERT_TRUE(backend_->unmap(base + 4 * mib).has_value());
  ASSERT_TRUE(backend_->map(base, four).has_value());
  ASSERT_TRUE(backend_->allow_access(base, 8 * mib).has_value());
  if (has_contents()) {
    for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(read(base + i * page_bytes), 100 + i);
    EXPECT_EQ(read(base + 8 * mib - 8), 200U);
  }
  EXPECT_FALSE(backend_->destroy_pages(four).has_value());
  ASSERT_TRUE(backend_->unmap(base).has_value());
  EXPECT_TRUE(backend_->destroy_pages(four).has_value());
  EXPECT_FALSE(backend_->destroy_pages(four).has_value());
}

TEST_P(BackendConformance, plain_allocations_are_apart_and_keep_their_contents) {
  const auto first = backend_->allocate(6 * mib);
  const auto second = backend_->allocate(2 * mib);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first % 512, 0U);
  EXPECT_EQ(*second % 512, 0U);
  EXPECT_TRUE(*first + 6 * mib <= *second || *second + 2 * mib <= *first);
  if (has_contents()) {
    write(*first, 1);
    write(*first + 6 * mib - 8, 2);
    write(*second, 3);
    EXPECT_EQ(read(*first), 1U);
    EXPECT_EQ(read(*first + 6 * mib - 8), 2U);
    EXPECT_EQ(read(*second), 3U);
  }
  EXPECT_TRUE(backend_->release(*first).has_value());
  EXPECT_TRUE(backend_->release(*second).has_value());
}

TEST_P(BackendConformance, only_plain_allocations_are_released_and_only_once) {
  const std::uint64_t address = *backend_->allocate(4 * mib);
  EXPECT_FALSE(backend_->release(address + 2 * mib).has_value());
  EXPECT_FALSE(backend_->release(0).has_value());
  EXPECT_TRUE(backend_->release(address).has_value());
  EXPECT_FALSE(backend_->release(address).has_value());
}

TEST_P(BackendConformance, plain_allocations_are_whole_units_and_not_endless) {
  EXPECT_FALSE(backend_->allocate(0).has_value());
  EXPECT_FALSE(backend_->allocate(3 * mib).has_value());
  EXPECT_FALSE(backend_->allocate(UINT64_MAX / page_bytes * page_bytes).has_value());
}

TEST_P(BackendConformance, without_virtual_memory_its_calls_are_refused_as_unsupported) {
  if (has_pages()) GTEST_SKIP() << "it has virtual memory";
  const auto range = backend_->reserve_range(2 * mib);
  const auto page = backend_->create_pages(1);
  ASSERT_FALSE(range.has_value() || page.has_value());
  EXPECT_EQ(range.error().code, Errc::unsupported);
  EXPECT_EQ(page.error().code, Errc::unsupported);
}

TEST_P(BackendConformance, an_event_passes_after_a_wait_for_its_stream) {
  const auto event = backend_->record(0);
  ASSERT_TRUE(event.has_value());
  EXPECT_NE(*event, 0U);
  ASSERT_TRUE(backend_->wait_for(0).has_value());
  const auto passed = backend_->passed(*event);
  ASSERT_TRUE(passed.has_value());
  EXPECT_TRUE(*passed);
}

TEST_P(BackendConformance, a_stream_gets_the_devices_own_handle_by_name) {
  backend_->bind_stream(7, 0);  // The default stream once more.
  EXPECT_TRUE(backend_->wait_for(7).has_value());
  EXPECT_TRUE(backend_->record(7).has_value());
}

TEST_P(BackendConformance, waiting_for_a_stream_succeeds) {
  EXPECT_TRUE(backend_->wait_for(0).has_value());
  EXPECT_TRUE(backend_->wait_for(12345).has_value());
}

// Live blocks with a pattern at both ends, the middle and wherever a page ends inside them.
class Patterns {
 public:
  explicit Patterns(DeviceAccess* access) : access_(access) {}

  struct Block {
    Address address;
    std::uint64_t bytes;
    std::uint64_t seed;
  };

  void write(const Block& block) const {
    if (access_ == nullptr) return;
    visit(block, [this](std::uint64_t address, std::uint64_t value) {
      EXPECT_TRUE(access_->write(address, {&value, 1}).has_value());
    });
  }
  bool holds(const Block& block) const {
    bool good = true;
    if (access_ == nullptr) return good;
    visit(block, [&](std::uint64_t address, std::uint64_t value) {
      std::uint64_t found = 0;
      good &= access_->read(address, {&found, 1}).has_value() && found == value;
    });
    return good;
  }

 private:
  template <class Visit>
  static void visit(const Block& block, Visit&& each) {
    const std::uint64_t last = block.address + block.bytes - 8;
    each(block.address, block.seed);
    each(last, ~block.seed);
    each(block.address + block.bytes / 2 + 8, block.seed * 3);
    for (std::uint64_t at = (block.address / page_bytes + 1) * page_bytes; at < last;
         at += page_bytes)
      each(at, block.seed + at);
  }

  DeviceAccess* access_;
};

TEST_P(BackendConformance, no_live_byte_is_lost_over_random_operations_and_repairs) {
  HeadroomAllocator allocator(*backend_, 64 * mib);
  const Patterns patterns(access_.get());
  const bool is_gpu = GetParam().name == "hip" || GetParam().name == "cuda";
  const int operations = is_gpu ? 20000 : 100000;  // A word there costs microseconds.
  std::mt19937_64 random(20);
  std::vector<Patterns::Block> live;
  std::uint64_t seed = 0;
  for (int i = 0; i < operations; ++i) {
    const bool free = !live.empty() && random() % 100 < ((i / 300) % 2 == 0 ? 35U : 65U);
    if (free) {
      std::swap(live[random() % live.size()], live.back());
      ASSERT_TRUE(patterns.holds(live.back())) << "at operation " << i;
      allocator.free(live.back().address);
      live.pop_back();
      continue;
    }
    const std::uint64_t asked = random() % 3 == 0 ? random() % (9 * mib) : random() % 20000;
    const auto address = allocator.allocate({asked, Component::other, 0});
    if (!address) continue;
    live.push_back({*address, *allocator.block_bytes(*address), ++seed});
    patterns.write(live.back());
  }
  for (const Patterns::Block& block : live) EXPECT_TRUE(patterns.holds(block));
  EXPECT_EQ(allocator.miss_counts().repairs > operations / 2000U, has_pages());
  EXPECT_EQ(allocator.broken_invariant(), "");
}

const std::array<Kind, 8> kinds = {{{"simulated", make_simulated},
                                    {"simulated_plain", make_simulated_plain},
                                    {"host", make_host},
                                    {"host_plain", make_host_plain},
                                    {"device_on_a_fake_driver", make_fake_device},
                                    {"plain_device_on_a_fake_driver", make_fake_device_plain},
                                    {"hip", make_hip},
                                    {"cuda", make_cuda}}};

std::string name_of(const ::testing::TestParamInfo<Kind>& kind) {
  return kind.param.name;
}

INSTANTIATE_TEST_SUITE_P(Backends, BackendConformance, ::testing::ValuesIn(kinds), name_of);
INSTANTIATE_TEST_SUITE_P(Backends, PageConformance, ::testing::ValuesIn(kinds), name_of);

}  // namespace
}  // namespace headroom::allocator
