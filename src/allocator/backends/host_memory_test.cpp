// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "allocator/backends/host.h"
#include "allocator/headroom/headroom_allocator.h"

namespace headroom::allocator {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
constexpr std::uint64_t gib = 1024 * mib;

// A machine that keeps 64 MiB for itself, counts how often it is asked, and has nothing left from
// some time on.
struct Machine {
  Bytes left = 1_GiB;
  int asked = 0;
  int lasts = 1000;

  HostMemory memory() {
    return HostMemory([this] {
      if (++asked > lasts) left = 65_MiB;
      return std::vector<facts::MemoryRoom>{{"this machine", 16_GiB, left, 64_MiB}};
    });
  }
};

std::unique_ptr<HostBackend> backend_on(
    Machine& machine, HostBackend::VirtualMemory virtual_memory = HostBackend::VirtualMemory::on) {
  auto backend = HostBackend::create(virtual_memory, machine.memory());
  EXPECT_TRUE(backend.has_value());
  return std::move(*backend);
}

TEST(HostMemory, what_is_beyond_the_machine_is_refused_before_any_of_it_is_taken) {
  Machine machine;
  HostMemory memory = machine.memory();
  const auto refused = memory.grant(gib, 2 * gib);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::out_of_memory);
  EXPECT_THAT(refused.error().message, HasSubstr("1.00 GiB to be free")) << "what was asked";
  EXPECT_THAT(refused.error().message, HasSubstr("found 1.00 GiB left of the 16.00 GiB"));
  EXPECT_THAT(refused.error().message, HasSubstr("64.0 MiB stay free"));
  EXPECT_THAT(refused.error().next, HasSubstr("capacity of 2.94 GiB")) << "with what is held";
}

TEST(HostMemory, a_grant_is_a_part_of_the_reserve_and_is_used_up_without_asking) {
  Machine machine;
  HostMemory memory = machine.memory();
  EXPECT_EQ(*memory.grant(900 * mib, 0), 16 * mib);
  EXPECT_EQ(machine.asked, 1);
  for (int page = 0; page < 8; ++page) EXPECT_EQ(*memory.grant(2 * mib, 0), 2 * mib);
  EXPECT_EQ(machine.asked, 2);
  EXPECT_EQ(*memory.grant(2 * mib, 0), 2 * mib);
  EXPECT_EQ(machine.asked, 3);
}

TEST(HostMemory, the_nearer_the_end_the_smaller_the_grants) {
  Machine machine;
  machine.left = 64_MiB + 24_MiB;
  HostMemory memory = machine.memory();
  EXPECT_EQ(*memory.grant(24 * mib, 0), 6 * mib);
  machine.left = 64_MiB + 2_MiB;
  EXPECT_EQ(*memory.grant(2 * mib, 0), 2 * mib);
  machine.left = 64_MiB + 1_MiB;
  EXPECT_FALSE(memory.grant(2 * mib, 0).has_value());
}

// Each sees what is left before the others took their slices.
TEST(HostMemory, four_that_take_at_the_same_time_stay_out_of_the_reserve) {
  Machine machine;
  machine.left = 400_MiB;
  std::vector<HostMemory> takers;
  for (int i = 0; i < 4; ++i) takers.push_back(machine.memory());
  for (bool any = true; any;) {
    any = false;
    Bytes taken;
    for (HostMemory& taker : takers) {
      const auto slice = taker.grant(8 * mib, 0);
      any = any || slice.has_value();
      taken += Bytes{slice.value_or(0)};
    }
    ASSERT_GE(machine.left, taken);
    machine.left -= taken;
  }
  EXPECT_GE(machine.left, 48_MiB) << "one page of each grant at most";
  EXPECT_LE(machine.left, 64_MiB + 8_MiB);
}

TEST(HostMemory, where_nobody_knows_what_is_left_all_is_granted) {
  HostMemory memory([] { return std::vector<facts::MemoryRoom>(); });
  EXPECT_EQ(*memory.grant(4 * gib, 0), 4 * gib);
}

TEST(HostMemory, a_group_that_is_tighter_than_the_machine_counts) {
  HostMemory memory([] {
    return std::vector<facts::MemoryRoom>{{"this machine", 16_GiB, 8_GiB, 512_MiB},
                                          {"the control group /box", 512_MiB, 100_MiB, 32_MiB}};
  });
  const auto refused = memory.grant(200 * mib, 0);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("the control group /box"));
}

TEST(HostMemory, a_backend_refuses_pages_and_holds_what_it_held) {
  Machine machine;
  machine.left = 64_MiB + 32_MiB;
  const auto backend = backend_on(machine);
  ASSERT_TRUE(backend->create_pages(4).has_value());
  machine.left = 64_MiB + 24_MiB;
  const auto refused = backend->create_pages(16);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::out_of_memory);
  EXPECT_THAT(refused.error().message,
              HasSubstr("taking 32.0 MiB of host memory on top of 8.0 MiB: expected"));
  EXPECT_EQ(*backend->held_bytes(), 8 * mib);
  EXPECT_TRUE(backend->create_pages(4).has_value());
}

// The figures change while a large handle is filled.
TEST(HostMemory, a_refusal_in_the_middle_gives_back_what_was_taken) {
  Machine machine;
  machine.lasts = 2;
  const auto backend = backend_on(machine);
  EXPECT_FALSE(backend->create_pages(32).has_value());
  EXPECT_EQ(machine.asked, 3);
  EXPECT_EQ(*backend->held_bytes(), 0U);
}

TEST(HostMemory, a_backend_refuses_plain_allocations) {
  Machine machine;
  machine.left = 64_MiB + 32_MiB;
  const auto backend = backend_on(machine, HostBackend::VirtualMemory::off);
  const auto refused = backend->allocate(64 * mib);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::out_of_memory);
  const auto granted = backend->allocate(16 * mib);
  ASSERT_TRUE(granted.has_value());
  EXPECT_TRUE(backend->release(*granted).has_value());
}

TEST(HostMemory, plain_memory_is_there_when_the_call_returns) {
  Machine machine;
  const auto backend = backend_on(machine, HostBackend::VirtualMemory::off);
  const auto address = backend->allocate(48 * mib);
  ASSERT_TRUE(address.has_value());
  EXPECT_GE(machine.asked, 3) << "in slices";
}

TEST(HostMemory, the_allocator_says_that_the_machine_refused_and_what_to_do) {
  for (const auto virtual_memory :
       {HostBackend::VirtualMemory::on, HostBackend::VirtualMemory::off}) {
    Machine machine;
    machine.lasts = 2;
    HeadroomAllocator allocator(backend_on(machine, virtual_memory), 8 * gib);
    const Request request{gib, Component::weights, 0};
    ASSERT_FALSE(allocator.allocate(request).has_value());
    const OutOfMemory problem = allocator.explain(request);
    const std::string text = to_text(problem);
    EXPECT_THAT(text, HasSubstr("no more of the device: taking"));
    EXPECT_THAT(text, HasSubstr("64.0 MiB stay free"));
    EXPECT_THAT(text, HasSubstr("next: make the job smaller"));
    EXPECT_THAT(to_error(problem).message, HasSubstr("stay free")) << "where only this is shown";
    EXPECT_EQ(allocator.broken_invariant(), "");
  }
}

// Taking pages one after the other, as a job's first iteration does, asks now and then only.
TEST(HostMemory, a_job_of_a_hundred_pages_asks_a_few_times) {
  Machine machine;
  HeadroomAllocator allocator(backend_on(machine), gib);
  std::vector<Address> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(*allocator.allocate({2 * mib}));
  EXPECT_LE(machine.asked, 15);
}

}  // namespace
}  // namespace headroom::allocator
