// SPDX-License-Identifier: Apache-2.0
// Against std::map, from empty to many leaves and back.
#include "allocator/models/sorted_blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace headroom::allocator {
namespace {

using Model = std::map<std::pair<std::uint64_t, std::uint64_t>, int*>;

BlockKey key_of(const Model::value_type& entry) {
  return {entry.first.first, entry.first.second};
}

void expect_same_order(const SortedBlocks<int>& blocks, const Model& model) {
  auto at = blocks.lower_bound({});
  for (const auto& [key, block] : model) {
    ASSERT_EQ(blocks.at(at), block);
    at = blocks.next(at);
  }
  EXPECT_EQ(blocks.at(at), nullptr);
  EXPECT_EQ(blocks.all().size(), model.size());
}

TEST(SortedBlocks, an_empty_set_has_no_first_block) {
  const SortedBlocks<int> blocks;
  EXPECT_EQ(blocks.at(blocks.lower_bound({})), nullptr);
  EXPECT_TRUE(blocks.all().empty());
}

TEST(SortedBlocks, keeps_the_order_of_a_map_while_it_grows_and_shrinks) {
  std::mt19937_64 random(11);
  std::vector<int> values(20000);
  SortedBlocks<int> blocks;
  Model model;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool shrinks = (i / 4000) % 2 == 1;  // Whole leaves go in between.
    if (!model.empty() && random() % 10 < (shrinks ? 8U : 2U)) {
      auto gone = model.lower_bound({random() % 64, random() % 100000});
      if (gone == model.end()) gone = model.begin();
      blocks.erase(key_of(*gone));
      model.erase(gone);
    } else {
      const std::pair<std::uint64_t, std::uint64_t> key = {random() % 64, random() % 100000};
      if (!model.emplace(key, &values[i]).second) continue;
      blocks.insert({key.first, key.second}, &values[i]);
    }
    const BlockKey wanted{random() % 66, random() % 100000};
    const auto expected = model.lower_bound({wanted.first, wanted.second});
    ASSERT_EQ(blocks.at(blocks.lower_bound(wanted)),
              expected == model.end() ? nullptr : expected->second);
    if (i % 1000 == 0) expect_same_order(blocks, model);
  }
  while (!model.empty()) {
    blocks.erase(key_of(*model.begin()));
    model.erase(model.begin());
    if (model.size() % 1000 == 0) expect_same_order(blocks, model);
  }
}

}  // namespace
}  // namespace headroom::allocator
