// SPDX-License-Identifier: Apache-2.0
// Memory from a pool, and the pointers that share what lives in it.
#include "base/block_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "base/counted.h"

namespace headroom {
namespace {

TEST(BlockPool, blocks_do_not_overlap_whatever_their_size) {
  BlockPool pool;
  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  for (std::size_t i = 0; i < 3000; ++i) {
    const std::size_t bytes = 1 + i * 37 % 5000;  // Some beyond what is pooled.
    auto* block = static_cast<unsigned char*>(pool.take(bytes));
    std::memset(block, static_cast<int>(i % 251), bytes);
    blocks.emplace_back(block, bytes);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [block, bytes] = blocks[i];
    ASSERT_EQ(block[0], i % 251);
    ASSERT_EQ(block[bytes - 1], i % 251);
    pool.give_back(block, bytes);
  }
}

TEST(BlockPool, what_was_given_back_is_given_again) {
  BlockPool pool;
  void* block = pool.take(100);
  pool.give_back(block, 100);
  EXPECT_EQ(pool.take(97), block);
  EXPECT_NE(pool.take(97), block);
}

struct Thing {
  explicit Thing(int& retired) : retired_count(retired) {}
  int& retired_count;
  std::uint32_t holders = 0;
  static void retire(Thing* thing) { ++thing->retired_count; }
};

TEST(Counted, the_last_holder_retires_the_object) {
  int retired = 0;
  Thing thing(retired);
  {
    Counted<Thing> one(&thing);
    Counted<Thing> two = one;
    EXPECT_EQ(one.use_count(), 2U);
    const Counted<Thing> three = std::move(two);
    EXPECT_EQ(one.use_count(), 2U);
    EXPECT_TRUE(two == nullptr);  // NOLINT: moved from on purpose
    one = nullptr;
    EXPECT_EQ(retired, 0);
  }
  EXPECT_EQ(retired, 1);
}

TEST(Counted, assigning_it_to_itself_keeps_the_object) {
  int retired = 0;
  Thing thing(retired);
  Counted<Thing> one(&thing);
  const Counted<Thing>& same = one;
  one = same;
  EXPECT_EQ(one.use_count(), 1U);
  EXPECT_EQ(retired, 0);
}

}  // namespace
}  // namespace headroom
