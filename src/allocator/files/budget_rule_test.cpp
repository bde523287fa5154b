// SPDX-License-Identifier: Apache-2.0
#include "allocator/files/budget_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "allocator/budget.h"

namespace headroom::allocator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(BudgetRule, weights_divide_what_fixed_shares_leave) {
  const std::vector<Claim> claims = {
      {Share::of_bytes(400), 0}, {Share::of_weight(1), 0}, {Share::of_weight(3), 0}};
  EXPECT_THAT(own_shares(1000, claims), ElementsAre(400U, 150U, 450U));
}

TEST(BudgetRule, a_share_of_the_total_is_a_fixed_one) {
  EXPECT_EQ(Share::of_total(0.25, 1000).amount, 250U);
  EXPECT_EQ(Share::of_total(1.0, ~std::uint64_t{0}).amount, ~std::uint64_t{0});
  EXPECT_EQ(Share::of_total(-1, 1000).amount, 0U);
}

TEST(BudgetRule, large_totals_and_weights_do_not_overflow) {
  const std::uint64_t total = std::uint64_t{1} << 62U;
  const std::vector<Claim> claims(64, {Share::of_weight(max_share_weight), 0});
  EXPECT_EQ(own_shares(total, claims)[63], total / 64);
}

TEST(BudgetRule, idle_shares_are_not_lent) {
  const std::vector<Claim> claims = {{Share::of_bytes(600), 0}, {Share::of_bytes(300), 300}};
  EXPECT_EQ(grantable(1000, claims, 1), 100U);  // What no share covers.
  EXPECT_EQ(grantable(1000, claims, 0), 700U);
}

TEST(BudgetRule, one_alone_may_have_all) {
  EXPECT_EQ(grantable(1000, {{Share::of_weight(1), 0}}, 0), 1000U);
  EXPECT_EQ(grantable(1000, {{Share::of_bytes(100), 400}}, 0), 600U);
}

TEST(BudgetRule, a_weighted_newcomer_gets_what_is_there_and_the_others_nothing_new) {
  std::vector<Claim> claims = {{Share::of_weight(1), 900}, {Share::of_weight(1), 0}};
  EXPECT_EQ(grantable(1000, claims, 1), 100U);
  claims[0].held_bytes = 700;  // It gave back 200.
  EXPECT_EQ(grantable(1000, claims, 0), 0U);
  EXPECT_EQ(grantable(1000, claims, 1), 300U);
}

TEST(BudgetRule, a_fixed_share_is_only_promised_where_it_can_be_backed) {
  const std::vector<Claim> claims = {{Share::of_weight(1), 300}, {Share::of_bytes(400), 100}};
  EXPECT_EQ(promisable(1000, claims), 300U);
}

struct World {
  std::uint64_t total;
  std::vector<Claim> claims;

  std::uint64_t held() const {
    std::uint64_t sum = 0;
    for (const Claim& claim : claims) sum += claim.held_bytes;
    return sum;
  }
};

void join_or_leave(World& world) {
  if (!world.claims.empty() && *rc::gen::inRange(0, 4) == 0) {
    world.claims.erase(world.claims.begin() +
                       *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(world.claims)));
  } else if (*rc::gen::arbitrary<bool>()) {
    world.claims.push_back({Share::of_weight(*rc::gen::inRange<std::uint64_t>(1, 9)), 0});
  } else {
    const std::uint64_t wanted = *rc::gen::inRange<std::uint64_t>(0, world.total);
    if (wanted <= promisable(world.total, world.claims))
      world.claims.push_back({Share::of_bytes(wanted), 0});
  }
}

RC_GTEST_PROP(BudgetRule, holds_its_promises_whatever_happens, ()) {
  World world{*rc::gen::inRange<std::uint64_t>(1, 5000), {}};
  for (int step = 0; step < 60; ++step) {
    if (world.claims.empty() || *rc::gen::inRange(0, 5) == 0) {
      join_or_leave(world);
      continue;
    }
    const auto who = *rc::gen::inRange<std::size_t>(0, world.claims.size());
    Claim& claim = world.claims[who];
    if (*rc::gen::inRange(0, 3) == 0)
      claim.held_bytes -= *rc::gen::inRange<std::uint64_t>(0, claim.held_bytes + 1);
    else
      claim.held_bytes +=
          *rc::gen::inRange<std::uint64_t>(0, grantable(world.total, world.claims, who) + 1);
    RC_ASSERT(world.held() <= world.total);
    const std::vector<std::uint64_t> own = own_shares(world.total, world.claims);
    for (std::size_t i = 0; i < world.claims.size(); ++i) {
      const std::uint64_t held = world.claims[i].held_bytes;
      const std::uint64_t more = grantable(world.total, world.claims, i);
      RC_ASSERT(world.held() + more <= world.total);
      if (world.claims[i].share.kind == ShareKind::fixed_bytes) RC_ASSERT(held + more >= own[i]);
    }
    // With nobody above its share, everybody has its own.
    World modest = world;
    for (std::size_t i = 0; i < own.size(); ++i)
      modest.claims[i].held_bytes = std::min(modest.claims[i].held_bytes, own[i]);
    for (std::size_t i = 0; i < own.size(); ++i)
      RC_ASSERT(modest.claims[i].held_bytes + grantable(world.total, modest.claims, i) >= own[i]);
  }
}

TEST(OverBudget, says_what_is_left_and_who_holds_the_rest) {
  BudgetState state{.total_bytes = 16ULL << 30U, .available_bytes = 1ULL << 30U, .members = {}};
  state.members.push_back({12, "python3", 10ULL << 30U, 8ULL << 30U, false});
  state.members.push_back({34, "headroom-train", 5ULL << 30U, 8ULL << 30U, true});
  const Error error = over_budget(2ULL << 30U, state);
  EXPECT_EQ(error.code, Errc::out_of_memory);
  EXPECT_THAT(error.message, HasSubstr("1.00 GiB of 16.00 GiB are left for this process"));
  EXPECT_THAT(error.message, HasSubstr("python3 (12) 10.00 GiB of a share of 8.00 GiB"));
}

TEST(BudgetRuleDeathTest, more_is_not_promised_than_there_is) {
  const std::vector<Claim> claims = {{Share::of_bytes(600), 0}, {Share::of_bytes(401), 0}};
  EXPECT_DEATH(static_cast<void>(own_shares(1000, claims)), "required: fixed shares add up to");
}

}  // namespace
}  // namespace headroom::allocator
