// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "allocator/files/budget_ledger.h"
#include "allocator/files/testing/shared_budget.h"

namespace headroom::allocator {
namespace {

using testing::Child;
using testing::mib;
using testing::SharedBudget;
using testing::total;

// Takes and gives back at random and holds the promises to account.
void spend(BudgetLedger& budget, std::uint64_t seed, int steps, std::atomic<int>* broken) {
  std::mt19937_64 random(seed);
  std::uint64_t held = 0;
  for (int i = 0; i < steps; ++i) {
    if (random() % 2 == 0) {
      const std::uint64_t bytes = (1 + random() % 300) * mib;
      const Status taken = budget.take(bytes);
      if (taken) held += bytes;
      if (!taken && taken.error().code != Errc::out_of_memory) ++*broken;
      if (!taken && held + bytes <= 200 * mib) ++*broken;  // Its own share.
    } else if (held > 0) {
      const std::uint64_t bytes = random() % held + 1;
      if (!budget.give_back(bytes)) ++*broken;
      held -= bytes;
    }
    if (i % 16 != 0) continue;
    const auto state = budget.state();
    if (!state) {
      ++*broken;
      continue;
    }
    std::uint64_t sum = 0;
    for (const BudgetMember& member : state->members) sum += member.held_bytes;
    if (sum > total) ++*broken;
  }
}

TEST_F(SharedBudget, threads_never_hold_more_than_there_is) {
  std::atomic<int> broken = 0;
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<BudgetLedger>> members;
  for (int i = 0; i < 4; ++i) members.push_back(joined(Share::of_bytes(200 * mib)));
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] { spend(*members[t], t, 300, &broken); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(broken, 0);
}

TEST_F(SharedBudget, threads_of_one_member_count_together) {
  const auto budget = joined();
  std::atomic<int> granted = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        if (budget->take(4 * mib)) ++granted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(granted, 256);
  EXPECT_EQ(held(), total);
}

// Children spend; one after the other is killed wherever it is and another takes its place.
TEST_F(SharedBudget, processes_killed_in_the_middle_lose_no_byte_and_hang_nobody) {
  std::mt19937_64 random(11);
  std::uint64_t seed = 0;
  const auto spender = [&] {
    return std::make_unique<Child>([this, own_seed = ++seed] {
      auto own = join(Share::of_bytes(200 * mib));
      if (!own) ::_exit(1);
      std::atomic<int> broken = 0;
      spend(**own, own_seed, 1000000, &broken);
    });
  };
  // It joins first: beside children that spend already its share may be taken.
  const auto budget = joined(Share::of_bytes(200 * mib));
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 3; ++i) children.push_back(spender());
  std::atomic<int> broken = 0;
  for (int round = 0; round < 100; ++round) {
    ::usleep(static_cast<useconds_t>(random() % 3000));
    const std::size_t victim = random() % children.size();
    children[victim].reset();
    children[victim] = spender();
    spend(*budget, seed, 20, &broken);
    const auto state = budget->state();
    ASSERT_TRUE(state) << state.error().message;
    for (const BudgetMember& member : state->members) {
      if (member.self) {
        ASSERT_TRUE(budget->give_back(member.held_bytes));
      }
    }
  }
  EXPECT_EQ(broken, 0);
  children.clear();
  EXPECT_TRUE(budget->take(total));
}

}  // namespace
}  // namespace headroom::allocator
