// SPDX-License-Identifier: Apache-2.0
#include "tokens/merges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace headroom::tokens {
namespace {

using ::testing::ElementsAre;

std::vector<Id> merge(const Merges& merges, const std::vector<Id>& word) {
  WordMerger merger;
  for (const Id id : word) merger.add(id);
  std::vector<Id> ids;
  merger.merge(merges, ids);
  EXPECT_TRUE(merger.empty());
  return ids;
}

TEST(Merges, the_lowest_rank_comes_first_and_of_equal_ones_the_leftmost) {
  Merges merges;
  merges.reserve(3);
  merges.add(1, 2, {1, 12});
  merges.add(2, 3, {0, 23});
  merges.add(1, 1, {2, 11});
  EXPECT_THAT(merge(merges, {1, 2, 3}), ElementsAre(1, 23));
  EXPECT_THAT(merge(merges, {1, 1, 1}), ElementsAre(11, 1));
  EXPECT_THAT(merge(merges, {}), ElementsAre());
}

TEST(Merges, a_pair_that_is_added_again_counts_as_it_was_added_last) {
  Merges merges;
  merges.reserve(2);
  merges.add(1, 2, {0, 12});
  merges.add(1, 2, {7, 13});
  ASSERT_NE(merges.find(1, 2), nullptr);
  EXPECT_EQ(merges.find(1, 2)->merged, 13);
  EXPECT_EQ(merges.find(2, 1), nullptr);
}

// One at a time, from the left: what the heap does quickly.
std::vector<Id> merge_slowly(const Merges& merges, std::vector<Id> word) {
  for (;;) {
    const Merge* best = nullptr;
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < word.size(); ++i) {
      const Merge* found = merges.find(word[i], word[i + 1]);
      if (found == nullptr || (best != nullptr && best->rank <= found->rank)) continue;
      best = found;
      place = i;
    }
    if (best == nullptr) return word;
    word[place] = best->merged;
    word.erase(word.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

RC_GTEST_PROP(Merges, the_heap_merges_as_one_at_a_time_does, ()) {
  Merges merges;
  const auto count = *rc::gen::inRange(0, 40);
  merges.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)  // Each makes a token of its own.
    merges.add(*rc::gen::inRange(0, 4 + i), *rc::gen::inRange(0, 4 + i),
               {static_cast<std::uint32_t>(i), 4 + i});
  const auto word = *rc::gen::container<std::vector<Id>>(rc::gen::inRange(0, 4));
  RC_ASSERT(merge(merges, word) == merge_slowly(merges, word));
}

}  // namespace
}  // namespace headroom::tokens
