// SPDX-License-Identifier: Apache-2.0
// Every fault that drivers were reported to have is refused by the self-test, or survived by the
// allocator on top without a lost byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "allocator/backends/device_backend.h"
#include "allocator/backends/driver_access.h"
#include "allocator/backends/host_access.h"
#include "allocator/backends/testing/fake_driver.h"
#include "allocator/headroom/headroom_allocator.h"
#include "allocator/self_test/self_test.h"

namespace headroom::allocator {
namespace {

using testing::Fault;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

SelfTestReport test_fake(Fault fault, const SelfTestLimits& limits = {}) {
  auto backend = *DeviceBackend::on_trial(std::make_unique<testing::FakeDriver>(fault));
  DriverAccess access(backend->driver());
  return run_self_test(*backend, access, limits);
}

VirtualMemoryVerdict trusted(const Capabilities& measured) {
  return {VirtualMemoryVerdict::Use::yes, "it passed", measured};
}

struct Refusal {
  std::string name;
  Fault fault;
  std::string step;
  std::string found;  // Part of what the report says.
};

void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.name;
}

class RefusedFault : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedFault, is_refused_with_what_was_found) {
  const SelfTestReport report = test_fake(GetParam().fault);
  EXPECT_FALSE(report.passed);
  EXPECT_FALSE(report.measured.virtual_memory);
  ASSERT_FALSE(report.steps.empty());
  EXPECT_EQ(report.steps.back().name, GetParam().step);
  EXPECT_FALSE(report.steps.back().passed);
  EXPECT_THAT(report.steps.back().found, ::testing::HasSubstr(GetParam().found));
  EXPECT_THAT(to_text(report), ::testing::HasSubstr("FAILED"));
}

INSTANTIATE_TEST_SUITE_P(
    SelfTest, RefusedFault,
    ::testing::Values(
        Refusal{"live_data_zeroed", Fault::live_data_zeroed, "live data", "8192 of them zero"},
        Refusal{"contents_lost", Fault::contents_lost_by_remapping, "remapping",
                "8192 of 262144 words are wrong, 8192 of them zero"},
        Refusal{"map_lies", Fault::map_lies, "settling", "is not mapped"},
        Refusal{"aliasing", Fault::aliasing, "settling", "words are wrong, 0 of them zero"},
        Refusal{"first_mapping_only", Fault::first_mapping_only, "sizes", "invalid value"}),
    [](const auto& refusal) { return refusal.param.name; });

struct Survival {
  std::string name;
  Fault fault;
  bool access_from_start_only = false;
  bool destroy_returns_memory = true;
  std::uint64_t settle_ns = 0;
  bool several_pages_per_handle = true;
};

void PrintTo(const Survival& survival, std::ostream* out) {
  *out << survival.name;
}

std::uint64_t* words(std::uint64_t address) {
  return reinterpret_cast<std::uint64_t*>(static_cast<std::uintptr_t>(address));
}

// Random allocations with a pattern at both ends, checked when each is freed.
void use(HeadroomAllocator& allocator) {
  struct Block {
    Address address;
    std::uint64_t last;
    std::uint64_t seed;
  };
  const auto check = [](const Block& block) {
    EXPECT_EQ(*words(block.address), block.seed);
    EXPECT_EQ(*words(block.last), ~block.seed);
  };
  // A few iterations first: after them several pages come under a handle.
  const Address weights = *allocator.allocate({mib, Component::other, 0});
  for (int step = 0; step < 6; ++step) {
    std::vector<Address> blocks;
    for (int i = 0; i < 20; ++i) blocks.push_back(*allocator.allocate({mib, Component::other, 0}));
    for (const Address block : blocks) allocator.free(block);
  }
  allocator.free(weights);
  std::mt19937_64 random(7);
  std::vector<Block> live;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    if (!live.empty() && random() % 100 < ((i / 300) % 2 == 0 ? 35U : 65U)) {
      std::swap(live[random() % live.size()], live.back());
      check(live.back());
      allocator.free(live.back().address);
      live.pop_back();
      continue;
    }
    const std::uint64_t asked = random() % 3 == 0 ? random() % (9 * mib) : random() % 20000;
    const auto address = allocator.allocate({asked, Component::other, 0});
    if (!address) continue;
    live.push_back({*address, *address + *allocator.block_bytes(*address) - 8, i});
    *words(live.back().address) = i;
    *words(live.back().last) = ~i;
  }
  for (const Block& block : live) check(block);
  EXPECT_EQ(allocator.broken_invariant(), "");
}

class SurvivedFault : public ::testing::TestWithParam<Survival> {};

TEST_P(SurvivedFault, is_measured_and_no_byte_is_lost) {
  const SelfTestReport report = test_fake(GetParam().fault);
  ASSERT_TRUE(report.passed) << to_text(report);
  EXPECT_EQ(report.measured.access_from_start_only, GetParam().access_from_start_only);
  EXPECT_EQ(report.measured.destroy_returns_memory, GetParam().destroy_returns_memory);
  EXPECT_EQ(report.measured.settle_ns, GetParam().settle_ns);
  EXPECT_EQ(report.measured.several_pages_per_handle, GetParam().several_pages_per_handle);
  DeviceBackend backend(std::make_unique<testing::FakeDriver>(GetParam().fault),
                        trusted(report.measured));
  HeadroomAllocator allocator(backend, 64 * mib);
  use(allocator);
  EXPECT_GT(allocator.miss_counts().repairs, 10U);
}

INSTANTIATE_TEST_SUITE_P(
    SelfTest, SurvivedFault,
    ::testing::Values(
        Survival{"none", Fault::none},
        Survival{"zeros_after_mapping", Fault::zeros_after_mapping, false, true, 4'000'000},
        Survival{"tail_access_refused", Fault::tail_access_refused, true},
        Survival{"access_sometimes_refused", Fault::access_sometimes_refused},
        Survival{"some_sizes_refused", Fault::some_sizes_refused},
        Survival{"range_not_freed", Fault::range_not_freed},
        Survival{"memory_not_returned", Fault::memory_not_returned, false, false},
        Survival{"memory_info_inconsistent", Fault::memory_info_inconsistent, false, false},
        Survival{"single_pages_only", Fault::single_pages_only, false, true, 0, false}),
    [](const auto& survival) { return survival.param.name; });

TEST(SelfTest, host_memory_passes_and_gives_back_what_it_destroys) {
  const auto backend = *HostBackend::create();
  HostAccess access(*backend);
  const SelfTestReport report = run_self_test(*backend, access, {.cycles = 200});
  EXPECT_TRUE(report.passed) << to_text(report);
  EXPECT_TRUE(report.measured.destroy_returns_memory);
  EXPECT_GT(report.measured.costs.map, 0U);
  EXPECT_THAT(to_text(report), ::testing::HasSubstr("Virtual memory works here."));
}

TEST(SelfTest, settle_time_is_kept_even_where_no_loss_was_seen) {
  const SelfTestReport report = test_fake(Fault::none, {.least_settle_ns = 4'000'000});
  EXPECT_TRUE(report.passed);
  EXPECT_EQ(report.measured.settle_ns, 4'000'000U);
}

TEST(SelfTest, names_each_step_before_it_begins) {
  auto backend = *DeviceBackend::on_trial(std::make_unique<testing::FakeDriver>());
  DriverAccess access(backend->driver());
  std::vector<std::string> begun;
  const auto report =
      run_self_test(*backend, access, {}, [&](std::string_view name) { begun.emplace_back(name); });
  ASSERT_EQ(begun.size(), report.steps.size());
  for (std::size_t i = 0; i < begun.size(); ++i) EXPECT_EQ(begun[i], report.steps[i].name);
}

TEST(DeviceBackend, has_no_virtual_memory_without_a_verdict_that_says_yes) {
  using Use = VirtualMemoryVerdict::Use;
  for (const Use use : {Use::test_needed, Use::no}) {
    DeviceBackend backend(std::make_unique<testing::FakeDriver>(),
                          VirtualMemoryVerdict{use, "not tested", {.virtual_memory = true}});
    EXPECT_FALSE(backend.capabilities().virtual_memory);
    EXPECT_FALSE(backend.reserve_range(2 * mib).has_value());
    EXPECT_FALSE(backend.create_pages(1).has_value());
  }
}

TEST(DeviceBackend, has_no_virtual_memory_that_was_not_earned) {
  DeviceBackend backend(std::make_unique<testing::FakeDriver>());
  EXPECT_FALSE(backend.capabilities().virtual_memory);
  const auto range = backend.reserve_range(4 * mib);
  ASSERT_FALSE(range.has_value());
  EXPECT_EQ(range.error().code, Errc::unsupported);
  EXPECT_TRUE(backend.allocate(4 * mib).has_value());
}

TEST(DeviceBackend, keeps_pages_whose_memory_would_not_come_back) {
  DeviceBackend backend(std::make_unique<testing::FakeDriver>(Fault::memory_not_returned),
                        trusted({.virtual_memory = true, .destroy_returns_memory = false}));
  ASSERT_TRUE(backend.reserve_range(2 * mib).has_value());
  for (int i = 0; i < 1000; ++i) {  // Four times what the fake GPU has.
    const auto page = backend.create_pages(1);
    ASSERT_TRUE(page.has_value());
    ASSERT_TRUE(backend.destroy_pages(*page).has_value());
  }
}

TEST(DeviceBackend, gives_everything_back_in_the_end) {
  std::size_t left = 99;
  {
    DeviceBackend backend(std::make_unique<testing::FakeDriver>(Fault::none, &left),
                          trusted({.virtual_memory = true}));
    const std::uint64_t base = *backend.reserve_range(8 * mib);
    ASSERT_TRUE(backend.reserve_range(2 * mib).has_value());
    ASSERT_TRUE(backend.map(base + 2 * mib, *backend.create_pages(1)).has_value());
    ASSERT_TRUE(backend.allow_access(base + 2 * mib, 2 * mib).has_value());
    ASSERT_TRUE(backend.map(base + 6 * mib, *backend.create_pages(1)).has_value());
    ASSERT_TRUE(backend.destroy_pages(*backend.create_pages(1)).has_value());
    ASSERT_TRUE(backend.create_pages(1) && backend.allocate(4 * mib) && backend.record(0));
    const auto passed = backend.record(0);
    while (!*backend.passed(*passed)) {
    }
  }
  EXPECT_EQ(left, 0U);
}

TEST(DeviceBackend, addresses_that_would_not_go_back_go_back_in_the_end) {
  std::size_t left = 99;
  {
    auto driver = std::make_unique<testing::FakeDriver>(Fault::none, &left);
    testing::FakeDriver& fake = *driver;
    fake.place_oddly();
    DeviceBackend backend(std::move(driver), trusted({.virtual_memory = true}));
    fake.set_fault(Fault::range_not_freed);
    const auto range = backend.reserve_range(4 * mib);
    ASSERT_TRUE(range.has_value()) << range.error().message;
    EXPECT_EQ(*range % page_bytes, 0U);
    ASSERT_TRUE(backend.map(*range + 2 * mib, *backend.create_pages(1)).has_value());
    fake.set_fault(Fault::none);
  }
  EXPECT_EQ(left, 0U);
}

TEST(DeviceBackend, uses_an_event_again_once_it_has_passed) {
  auto driver = std::make_unique<testing::FakeDriver>();
  const testing::FakeDriver& fake = *driver;
  DeviceBackend backend(std::move(driver));
  backend.bind_stream(3, 42);
  for (int i = 0; i < 100; ++i) {
    const auto event = backend.record(3);
    ASSERT_TRUE(event.has_value());
    EXPECT_FALSE(*backend.passed(*event));
    EXPECT_TRUE(*backend.passed(*event));
    EXPECT_FALSE(backend.passed(*event).has_value());
  }
  EXPECT_EQ(fake.events(), 1U);
  EXPECT_FALSE(backend.record(4).has_value()) << "nobody bound it";
  EXPECT_TRUE(backend.wait_for(4).has_value()) << "that is a wait for all";
}

}  // namespace
}  // namespace headroom::allocator
