// SPDX-License-Identifier: Apache-2.0
// What a program can do to an allocator with live blocks: fork, and end.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "allocator/backends/host.h"
#include "allocator/budget.h"
#include "allocator/headroom/headroom_allocator.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

// The exit code of a child that runs this; -1 if a signal ended it, or it hangs.
template <class Work>
int in_a_child(Work&& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(work());
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// Everything that the interface has; 0 if each call did nothing and said so.
int use_all_of(HeadroomAllocator& allocator, Address block) {
  allocator.record_stream(block, 2);
  allocator.retag(block, Component::weights);
  allocator.free(block);
  allocator.free(block + 1);
  allocator.synchronize(0);
  if (allocator.allocate({mib}) || allocator.allocate({mib, Component::other, 9})) return 1;
  if (allocator.usage().live_bytes != 0 || allocator.block_bytes(block)) return 2;
  if (allocator.begin_pool(1, 0)) return 3;
  if (allocator.end_pool(1) || allocator.release_pool(1)) return 6;
  const OutOfMemory why = allocator.explain({mib});
  if (!why.device || why.device->message.find("forked") == std::string::npos) return 4;
  return allocator.broken_invariant().empty() ? 0 : 5;
}

class ProcessEnd : public testing::TestWithParam<HostBackend::VirtualMemory> {
 protected:
  std::unique_ptr<HostBackend> backend_ = std::move(*HostBackend::create(GetParam()));
};

INSTANTIATE_TEST_SUITE_P(VirtualMemory, ProcessEnd,
                         testing::Values(HostBackend::VirtualMemory::on,
                                         HostBackend::VirtualMemory::off));

TEST_P(ProcessEnd, a_forked_child_gets_nothing_and_is_told_why) {
  HeadroomAllocator allocator(*backend_, 32 * mib);
  const Address block = *allocator.allocate({mib});
  allocator.free(*allocator.allocate({mib}));  // There is free memory that a child must not get.
  EXPECT_EQ(in_a_child([&] { return use_all_of(allocator, block); }), 0);
  EXPECT_EQ(allocator.block_bytes(block), mib);
  EXPECT_TRUE(allocator.allocate({mib}).has_value());
}

// Another thread holds a lock at the moment of many of these forks; nobody gives it back in the
// child.
TEST_P(ProcessEnd, a_child_forked_while_others_allocate_does_not_hang) {
  HeadroomAllocator allocator(*backend_, 32 * mib);
  const Address block = *allocator.allocate({mib});
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) allocator.free(allocator.allocate({4 * mib}).value_or(0));
  });
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(in_a_child([&] { return use_all_of(allocator, block); }), 0);
  stop = true;
  other.join();
  EXPECT_EQ(allocator.broken_invariant(), "");
}

TEST_P(ProcessEnd, a_child_may_end_the_allocator) {
  auto allocator = std::make_unique<HeadroomAllocator>(std::move(backend_), 32 * mib);
  const Address block = *allocator->allocate({mib});
  EXPECT_EQ(in_a_child([&] {
              allocator.reset();
              return 0;
            }),
            0);
  EXPECT_EQ(allocator->block_bytes(block), mib);
}

// Grants everything, and knows how much is taken.
class CountedBudget final : public Budget {
 public:
  std::uint64_t taken() const { return taken_; }
  Status take(std::uint64_t bytes) override {
    taken_ += bytes;
    return Done{};
  }
  Status give_back(std::uint64_t bytes) override {
    taken_ -= bytes;
    return Done{};
  }
  Result<BudgetState> state() override { return BudgetState{}; }

 private:
  std::uint64_t taken_ = 0;
};

TEST_P(ProcessEnd, a_child_gives_back_no_budget_of_its_parent) {
  CountedBudget budget;
  auto allocator = std::make_unique<HeadroomAllocator>(
      std::move(backend_), 32 * mib, HeadroomAllocator::Options{.budget = &budget});
  ASSERT_TRUE(allocator->allocate({mib}).has_value());
  const std::uint64_t taken = budget.taken();
  ASSERT_GT(taken, 0U);
  EXPECT_EQ(in_a_child([&] {
              allocator.reset();
              return budget.taken() == taken ? 0 : 1;
            }),
            0);
  allocator.reset();
  EXPECT_EQ(budget.taken(), 0U);
}

HeadroomAllocator& static_allocator(HostBackend::VirtualMemory virtual_memory) {
  static HeadroomAllocator allocator(std::move(*HostBackend::create(virtual_memory)), 32 * mib, {});
  return allocator;
}

TEST_P(ProcessEnd, exit_with_live_blocks_is_quiet) {
  const int code = in_a_child([] {
    HeadroomAllocator& allocator = static_allocator(GetParam());
    const Address block = allocator.allocate({4 * mib}).value_or(0);
    if (block == 0) return 1;
    // What is freed after the end of main, by another static object for instance.
    static HeadroomAllocator* late = nullptr;
    late = &allocator;
    std::atexit([] { late->free(late->allocate({mib, Component::other, 3}).value_or(0)); });
    std::exit(7);
  });
  EXPECT_EQ(code, 7);
}

}  // namespace
}  // namespace headroom::allocator
