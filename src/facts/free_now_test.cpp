// SPDX-License-Identifier: Apache-2.0
#include "facts/free_now.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

using namespace literals;

Fact<Bytes> known(Bytes bytes) {
  return {bytes, Source{"/file", 1, ""}};
}

Rung rung(const char* name, RungKind kind, Bytes limit, Fact<Bytes> used = {}) {
  Rung one;
  one.name = name;
  one.kind = kind;
  one.limit = known(limit);
  one.used = std::move(used);
  one.applies = true;
  return one;
}

// VRAM binds, and 4 of its 20 GiB are in use.
Ladder card() {
  Ladder ladder;
  ladder.rungs = {rung("vram", RungKind::capacity, 20_GiB, known(4_GiB)),
                  rung("hip", RungKind::one_allocation, 3_GiB)};
  ladder.rungs.front().binding = true;
  return ladder;
}

std::string free_of(const Ladder& ladder) {
  const auto found = find_free_now(ladder);
  return found ? to_string(found->bytes) + " by " + found->rung : "not known";
}

TEST(FreeNow, is_what_the_binding_limit_leaves) {
  EXPECT_EQ(free_of(card()), "16.00 GiB by vram");
}

TEST(FreeNow, a_rung_that_leaves_less_counts) {
  Ladder ladder = card();
  ladder.rungs.push_back(rung("kfd-free", RungKind::free, 1_GiB));
  EXPECT_EQ(free_of(ladder), "1.00 GiB by kfd-free");
  ladder.rungs.back().applies = false;
  EXPECT_EQ(free_of(ladder), "16.00 GiB by vram");
}

TEST(FreeNow, more_in_use_than_the_limit_leaves_nothing) {
  Ladder ladder = card();
  ladder.rungs.front().used = known(21_GiB);
  EXPECT_EQ(free_of(ladder), "0 B by vram");
}

TEST(FreeNow, is_not_known_where_the_use_of_the_binding_limit_is_not) {
  Ladder ladder = card();
  ladder.rungs.front().used = {};
  ladder.rungs.push_back(rung("ram", RungKind::capacity, 64_GiB, known(10_GiB)));
  EXPECT_EQ(free_of(ladder), "not known");
}

}  // namespace
}  // namespace headroom::facts
