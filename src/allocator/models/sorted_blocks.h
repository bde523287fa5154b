// SPDX-License-Identifier: Apache-2.0
// A sorted set of blocks, by a key of two numbers, in leaves of a few keys below one directory. A
// node for every block, as in std::set, would cost a cache miss for each comparison. Here a search
// reads neighbouring keys, and even with a hundred thousand blocks an insertion moves only one
// leaf.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace headroom::allocator {

struct BlockKey {
  std::uint64_t first = 0;
  std::uint64_t second = 0;

  // Compares without a branch, which a processor could not predict.
  friend bool operator<(const BlockKey& a, const BlockKey& b) {
    const auto less = static_cast<unsigned>(a.first < b.first);
    const auto equal = static_cast<unsigned>(a.first == b.first);
    return (less | (equal & static_cast<unsigned>(a.second < b.second))) != 0;
  }
};

template <class Block>
class SortedBlocks {
 public:
  struct Position {
    std::size_t leaf = 0;
    std::size_t entry = 0;
  };

  SortedBlocks() { leaves_.push_back({{}, std::make_unique<Leaf>()}); }

  // Requires: no block has this key.
  void insert(BlockKey key, Block* block) {
    std::size_t at = leaf_of(key);
    if (leaves_[at].leaf->count == leaf_entries) {
      split(at);
      if (!(key < leaves_[at + 1].first)) ++at;
    }
    Leaf& leaf = *leaves_[at].leaf;
    const auto place = leaf.entries.begin() + static_cast<std::ptrdiff_t>(leaf.find(key));
    std::move_backward(place, leaf.end(), leaf.end() + 1);
    *place = {key, block};
    ++leaf.count;
  }

  // Requires: a block has this key.
  void erase(BlockKey key) {
    const std::size_t at = leaf_of(key);
    erase(Position{at, leaves_[at].leaf->find(key)});
  }
  // Requires: a block is there. Every insertion and erasure invalidates positions.
  void erase(Position position) {
    Leaf& leaf = *leaves_[position.leaf].leaf;
    const auto place = leaf.entries.begin() + static_cast<std::ptrdiff_t>(position.entry);
    std::move(place + 1, leaf.end(), place);
    if (--leaf.count == 0 && leaves_.size() > 1)
      leaves_.erase(leaves_.begin() + static_cast<std::ptrdiff_t>(position.leaf));
  }

  // The first block whose key is not less; at() returns null if there is none.
  Position lower_bound(BlockKey key) const {
    const std::size_t at = leaf_of(key);
    return normal({at, leaves_[at].leaf->find(key)});
  }
  Position next(Position position) const { return normal({position.leaf, position.entry + 1}); }
  Block* at(Position position) const {
    if (position.leaf == leaves_.size()) return nullptr;
    const Leaf& leaf = *leaves_[position.leaf].leaf;
    return position.entry < leaf.count ? leaf.entries[position.entry].block : nullptr;
  }

  // All blocks in order, for callers that change the set while they go through them.
  std::vector<Block*> all() const {
    std::vector<Block*> blocks;
    for (const Slot& slot : leaves_)
      for (std::size_t i = 0; i < slot.leaf->count; ++i)
        blocks.push_back(slot.leaf->entries[i].block);
    return blocks;
  }

 private:
  static constexpr std::size_t leaf_entries = 32;

  struct Entry {
    BlockKey key;
    Block* block = nullptr;
  };
  struct Leaf {
    std::size_t count = 0;
    std::array<Entry, leaf_entries> entries;

    auto end() { return entries.begin() + static_cast<std::ptrdiff_t>(count); }
    // The first entry that is not less.
    std::size_t find(BlockKey key) const {
      std::size_t low = 0;
      for (std::size_t length = count; length > 0;) {
        const std::size_t half = length / 2;
        const bool after = entries[low + half].key < key;
        low += after ? half + 1 : 0;
        length = after ? length - half - 1 : half;
      }
      return low;
    }
  };
  struct Slot {
    // Not greater than the leaf's entries, and greater than all entries before them.
    BlockKey first;
    std::unique_ptr<Leaf> leaf;
  };

  // The last leaf that begins at or before the key; the first leaf for keys below all.
  std::size_t leaf_of(BlockKey key) const {
    if (leaves_.size() == 1) return 0;
    const auto after =
        std::upper_bound(leaves_.begin() + 1, leaves_.end(), key,
                         [](const BlockKey& k, const Slot& slot) { return k < slot.first; });
    return static_cast<std::size_t>(after - leaves_.begin()) - 1;
  }

  // The position after a leaf's last entry is the next leaf's first entry. Only a lone leaf is ever
  // empty.
  Position normal(Position position) const {
    if (position.entry < leaves_[position.leaf].leaf->count) return position;
    return {position.leaf + 1, 0};
  }

  void split(std::size_t at) {
    auto upper = std::make_unique<Leaf>();
    Leaf& lower = *leaves_[at].leaf;
    constexpr std::size_t half = leaf_entries / 2;
    std::move(lower.entries.begin() + half, lower.entries.end(), upper->entries.begin());
    upper->count = leaf_entries - half;
    lower.count = half;
    const BlockKey first = upper->entries.front().key;
    leaves_.insert(leaves_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                   Slot{first, std::move(upper)});
  }

  std::vector<Slot> leaves_;  // There is always at least one.
};

}  // namespace headroom::allocator
