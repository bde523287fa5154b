// SPDX-License-Identifier: Apache-2.0
// The merges of a byte-pair encoding: which two tokens that stand side by side become one, and
// which of several possible merges comes first. Looked up once or twice for every character of a
// text, so it is a hash table without pointers.
#pragma once

#include <cstdint>
#include <vector>

namespace headroom::tokens {

using Id = std::int32_t;

struct Merge {
  std::uint32_t rank = 0;  // The lowest comes first.
  Id merged = -1;
};

class Merges {
 public:
  // Makes room for `count` pairs. Requires: called once, before add().
  void reserve(std::size_t count);
  // The pair is in the table once; the last merge that was added counts.
  void add(Id left, Id right, Merge merge);
  // Null if the pair is not merged.
  const Merge* find(Id left, Id right) const {
    const std::uint64_t key = key_of(left, right);
    for (std::size_t slot = slot_of(key);; slot = (slot + 1) & mask_) {
      if (slots_[slot].key == key) return &slots_[slot].merge;
      if (slots_[slot].key == free) return nullptr;
    }
  }

 private:
  static constexpr std::uint64_t free =
      ~std::uint64_t{0};  // No pair of ids, which are not negative.
  struct Slot {
    std::uint64_t key = free;
    Merge merge;
  };

  static std::uint64_t key_of(Id left, Id right) {
    return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32U) |
           static_cast<std::uint32_t>(right);
  }
  std::size_t slot_of(std::uint64_t key) const {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;  // Fibonacci hashing: 2^64 / φ.
    return ((key * golden) >> 20U) & mask_;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(1);
  std::size_t mask_ = 0;
};

// One token of a word that is being merged.
struct Symbol {
  Id id = -1;
  std::int32_t previous = -1, next = -1;  // Within the word; −1: none.
  bool merged_away = false;
};

// Merges symbols until no pair of neighbours can be, and appends what remains to `ids`. Keeps its
// memory from one word to the next.
class WordMerger {
 public:
  void add(Id id) { symbols_.push_back({.id = id}); }
  bool empty() const { return symbols_.empty(); }
  // Empties itself.
  void merge(const Merges& merges, std::vector<Id>& ids);

 private:
  struct Candidate {
    std::uint32_t rank = 0;
    std::int32_t place = 0;
    Id merged = -1;
    // For a heap whose top is the lowest rank, and of these the leftmost.
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };
  void consider(const Merges& merges, std::int32_t place);

  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

}  // namespace headroom::tokens
