// SPDX-License-Identifier: Apache-2.0
#include "tokens/merges.h"

#include <algorithm>
#include <bit>

namespace headroom::tokens {

void Merges::reserve(std::size_t count) {
  slots_.assign(std::bit_ceil(2 * count + 1), Slot{});
  mask_ = slots_.size() - 1;
}

void Merges::add(Id left, Id right, Merge merge) {
  const std::uint64_t key = key_of(left, right);
  std::size_t slot = slot_of(key);
  while (slots_[slot].key != free && slots_[slot].key != key) slot = (slot + 1) & mask_;
  slots_[slot] = {key, merge};
}

void WordMerger::consider(const Merges& merges, std::int32_t place) {
  const Symbol& left = symbols_[static_cast<std::size_t>(place)];
  if (left.next < 0) return;
  const Merge* found = merges.find(left.id, symbols_[static_cast<std::size_t>(left.next)].id);
  if (found == nullptr) return;
  heap_.push_back({found->rank, place, found->merged});
  std::push_heap(heap_.begin(), heap_.end());
}

void WordMerger::merge(const Merges& merges, std::vector<Id>& ids) {
  const auto count = static_cast<std::int32_t>(symbols_.size());
  for (std::int32_t i = 0; i < count; ++i) {
    Symbol& symbol = symbols_[static_cast<std::size_t>(i)];
    symbol.previous = i - 1;
    symbol.next = i + 1 < count ? i + 1 : -1;
  }
  for (std::int32_t i = 0; i < count; ++i) consider(merges, i);
  while (!heap_.empty()) {
    const Candidate top = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    Symbol& left = symbols_[static_cast<std::size_t>(top.place)];
    if (left.merged_away || left.next < 0) continue;
    Symbol& right = symbols_[static_cast<std::size_t>(left.next)];
    // What was found for a pair that is no longer there counts if it gives the same token: as in
    // Hugging Face's tokenizers, where it may come before the pair's own turn.
    const Merge* still = merges.find(left.id, right.id);
    if (still == nullptr || still->merged != top.merged) continue;
    left.id = top.merged;
    left.next = right.next;
    right.merged_away = true;
    if (left.next >= 0) symbols_[static_cast<std::size_t>(left.next)].previous = top.place;
    if (left.previous >= 0) consider(merges, left.previous);
    consider(merges, top.place);
  }
  for (const Symbol& symbol : symbols_)
    if (!symbol.merged_away) ids.push_back(symbol.id);
  symbols_.clear();
}

}  // namespace headroom::tokens
