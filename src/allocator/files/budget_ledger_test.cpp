// SPDX-License-Identifier: Apache-2.0
#include "allocator/files/budget_ledger.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "allocator/files/testing/shared_budget.h"

namespace headroom::allocator {
namespace {

using testing::Child;
using ::testing::HasSubstr;
using testing::mib;
using testing::SharedBudget;
using testing::total;

TEST_F(SharedBudget, one_alone_may_take_all_and_no_more) {
  const auto budget = joined();
  EXPECT_TRUE(budget->take(1000 * mib));
  EXPECT_TRUE(budget->take(24 * mib));
  const Status refused = budget->take(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::out_of_memory);
  EXPECT_THAT(refused.error().message, HasSubstr("0 B of 1.00 GiB are left"));
  EXPECT_TRUE(budget->give_back(24 * mib));
  EXPECT_TRUE(budget->take(24 * mib));
  EXPECT_FALSE(budget->give_back(2000 * mib));
  EXPECT_EQ(held(), total);
}

TEST_F(SharedBudget, everybody_sees_who_holds_what) {
  const auto budget = joined(Share::of_bytes(600 * mib));
  const Child other([&] {
    auto own = join(Share::of_bytes(300 * mib));
    if (own && (*own)->take(200 * mib))
      static_cast<void>(own->release());  // Stays a member.
    else
      ::_exit(1);
  });
  ASSERT_TRUE(other.wait_done());
  ASSERT_TRUE(budget->take(100 * mib));
  const auto state = budget->state();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->total_bytes, total);
  ASSERT_EQ(state->members.size(), 2U);
  EXPECT_TRUE(state->members[0].self);
  EXPECT_EQ(state->members[0].held_bytes, 100 * mib);
  EXPECT_EQ(state->members[0].share_bytes, 600 * mib);
  EXPECT_EQ(state->members[1].pid, static_cast<std::uint64_t>(other.pid()));
  EXPECT_EQ(state->members[1].held_bytes, 200 * mib);
  EXPECT_EQ(state->available_bytes,
            (500 + 124) * mib);  // The rest of its share, and what no share covers.
  const Status refused = budget->take(700 * mib);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr(fmt::format("({}) 200.0 MiB of a share of 300.0 MiB", other.pid())));
}

TEST_F(SharedBudget, what_a_killed_process_held_is_there_for_others) {
  const auto budget = joined(Share::of_weight(1));
  Child other([&] {
    auto own = join(Share::of_weight(1));
    if (!own || !(*own)->take(500 * mib)) ::_exit(1);
    static_cast<void>(own->release());
  });
  ASSERT_TRUE(other.wait_done());
  EXPECT_FALSE(budget->take(600 * mib));
  other.kill();
  EXPECT_TRUE(budget->take(total));
  EXPECT_EQ(budget->state()->members.size(), 1U);
}

TEST_F(SharedBudget, who_leaves_in_order_leaves_nothing) {
  {
    const auto budget = joined();
    EXPECT_TRUE(budget->take(5 * mib));
  }
  EXPECT_TRUE(claims_of(ledger()).claims.empty());
}

TEST_F(SharedBudget, a_later_process_with_the_same_number_is_another) {
  const auto budget = joined();
  std::string bytes = file();
  LedgerEntry ghost = *ledger().entries[0];
  ghost.start_ticks -= 1;  // This process's number, as an earlier one had it.
  ghost.held_bytes = 600 * mib;
  const LedgerSlot slot = entry_slot(ghost);
  bytes.replace(ledger_offset(1), slot.size(), slot.data(), slot.size());
  overwrite(bytes);
  EXPECT_TRUE(budget->take(total));
  EXPECT_FALSE(ledger().entries[1]);
}

TEST_F(SharedBudget, a_process_of_another_container_lives_as_long_as_its_lock) {
  Child other([&] {
    auto own = join(Share::of_weight(1));
    if (!own || !(*own)->take(500 * mib)) ::_exit(1);
    static_cast<void>(own->release());
  });
  ASSERT_TRUE(other.wait_done());
  std::string bytes = file();
  LedgerEntry entry = *ledger().entries[0];
  entry.pid_namespace += 1;
  const LedgerSlot slot = entry_slot(entry);
  bytes.replace(ledger_offset(0), slot.size(), slot.data(), slot.size());
  // In place, because the lock is on this file and not on its name.
  const machine::Descriptor out(::open(path_.c_str(), O_WRONLY));
  ASSERT_EQ(::pwrite(out.get(), bytes.data(), bytes.size(), 0), std::ssize(bytes));
  const auto budget = joined(Share::of_weight(1));
  EXPECT_EQ(budget->state()->members.size(), 2U);
  EXPECT_FALSE(budget->take(600 * mib));
  other.kill();
  EXPECT_TRUE(budget->take(600 * mib));
  EXPECT_EQ(budget->state()->members.size(), 1U);
}

TEST_F(SharedBudget, a_forked_child_cannot_spend_its_parents_budget) {
  const auto budget = joined();
  ASSERT_TRUE(budget->take(10 * mib));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool refused = !budget->take(mib) && !budget->give_back(mib) && !budget->state();
    budget->~BudgetLedger();  // As a child that ends does to what it inherited.
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(held(), 10 * mib);
  EXPECT_TRUE(budget->take(mib));
}

TEST_F(SharedBudget, a_share_that_cannot_be_kept_is_not_promised) {
  const auto budget = joined(Share::of_weight(1));
  ASSERT_TRUE(budget->take(700 * mib));
  const auto refused = join(Share::of_bytes(400 * mib));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::out_of_memory);
  EXPECT_THAT(refused.error().message, HasSubstr("324.0 MiB of 1.00 GiB are left"));
  EXPECT_TRUE(join(Share::of_bytes(300 * mib)));
}

TEST_F(SharedBudget, all_must_divide_the_same_total) {
  {
    const auto budget = joined();
    const auto refused = BudgetLedger::join(path_, {.total_bytes = 2 * total, .share = {}});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("found 1.00 GiB shared by others"));
  }
  const auto alone = BudgetLedger::join(path_, {.total_bytes = 2 * total, .share = {}});
  ASSERT_TRUE(alone);
  EXPECT_TRUE((*alone)->take(2 * total));
}

TEST_F(SharedBudget, wrong_options_are_errors) {
  EXPECT_FALSE(join(Share::of_weight(0)));
  EXPECT_FALSE(join(Share::of_bytes(2 * total)));
  EXPECT_FALSE(BudgetLedger::join(path_, {.total_bytes = 0, .share = {}}));
  EXPECT_FALSE(BudgetLedger::join(folder_.path(), {.total_bytes = total, .share = {}}));
  EXPECT_FALSE(BudgetLedger::join("/no/such/folder/ledger", {.total_bytes = total, .share = {}}));
}

TEST_F(SharedBudget, a_damaged_file_is_refused_with_a_message_and_left_as_it_is) {
  std::string good;
  {
    const auto budget = joined();
    ASSERT_TRUE(budget->take(5 * mib));
    good = file();
  }
  std::string flipped = good;
  flipped[ledger_offset(0) + 49] ^= 4;  // What it holds.
  for (const std::string& bad :
       {std::string("my thesis"), std::string(100, '\0'), good.substr(0, 300), good + "x", flipped,
        std::string(ledger_bytes, '\xFF')}) {
    overwrite(bad);
    const auto refused = join();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::invalid);
    EXPECT_THAT(refused.error().next, HasSubstr("remove the file"));
    EXPECT_EQ(file(), bad);
  }
}

TEST_F(SharedBudget, damage_while_it_is_used_is_an_error_and_no_crash) {
  const auto budget = joined();
  ASSERT_TRUE(budget->take(5 * mib));
  const std::string good = file();
  for (const std::string& bad : {std::string(), std::string("x"), std::string(ledger_bytes, 'x')}) {
    overwrite(bad);
    EXPECT_FALSE(budget->take(mib));
    EXPECT_FALSE(budget->give_back(mib));
    EXPECT_FALSE(budget->state());
  }
  overwrite(good);
  EXPECT_TRUE(budget->give_back(5 * mib));
}

TEST_F(SharedBudget, random_damage_never_crashes) {
  std::string good;
  const auto first = joined(Share::of_bytes(100 * mib));
  const auto second = joined();
  ASSERT_TRUE(second->take(50 * mib));
  good = file();
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = good;
    for (std::uint64_t n = 1 + random() % 8; n > 0; --n)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    const auto parsed = parse_ledger(bytes);
    EXPECT_TRUE(parsed || !parsed.error().message.empty());
  }
}

TEST_F(SharedBudget, a_creator_that_was_killed_leaves_a_file_that_can_be_begun_again) {
  overwrite("");
  { EXPECT_TRUE(joined()); }
  overwrite(std::string(ledger_bytes, '\0'));
  EXPECT_TRUE(joined());
}

TEST_F(SharedBudget, all_slots_taken_is_said) {
  std::vector<std::unique_ptr<BudgetLedger>> members;
  for (std::size_t i = 0; i < ledger_slots; ++i) members.push_back(joined());
  const auto refused = join();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::busy);
  members.pop_back();
  EXPECT_TRUE(join());
}

}  // namespace
}  // namespace headroom::allocator
