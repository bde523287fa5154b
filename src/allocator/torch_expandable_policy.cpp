// SPDX-License-Identifier: Apache-2.0
#include "allocator/torch_expandable_policy.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/bytes.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t small_page = std::uint64_t{2} << 20U;
constexpr std::uint64_t large_page = std::uint64_t{20} << 20U;
constexpr std::uint64_t min_block = 512;

constexpr std::uint64_t page_of(bool small) {
  return small ? small_page : large_page;
}

}  // namespace

// Among blocks that fit, a block at the growing end of its segment counts as large as it could
// become, so that the end is left for what needs it.
TorchPolicy::Block* TorchExpandablePolicy::best_fit(Pool& pool, std::uint64_t bytes,
                                                    StreamId stream) {
  Block* best = first_of(pool, bytes, stream);
  if (best == nullptr) return nullptr;
  const auto could_become = [](const Block* block) {
    const bool grows = block->next != nullptr && !block->next->mapped;
    return block->bytes + (grows ? block->next->bytes : 0);
  };
  auto next = std::next(pool.free.find(best));
  while (next != pool.free.end() && (*next)->stream == stream &&
         could_become(*next) < could_become(best)) {
    best = *next;
    ++next;
  }
  return best;
}

bool TorchExpandablePolicy::splits(const Block& block, std::uint64_t bytes) const {
  return block.bytes - bytes >= min_block;
}

// The lowest run of unmapped and free blocks, starting at an unmapped block or the free one below
// it, that has room; else a new segment.
TorchPolicy::Block* TorchExpandablePolicy::find_place(Pool& pool, std::uint64_t bytes,
                                                      StreamId stream) {
  const auto has_room = [bytes](const Block* block) {
    std::uint64_t room = 0;
    for (; room < bytes && block != nullptr && !block->allocated; block = block->next)
      room += block->bytes;
    return room >= bytes;
  };
  Block key;
  key.stream = stream;
  for (auto it = pool.unmapped.lower_bound(&key);
       it != pool.unmapped.end() && (*it)->stream == stream; ++it) {
    Block* candidate = *it;
    if (candidate->prev != nullptr && !candidate->prev->allocated) candidate = candidate->prev;
    if (has_room(candidate)) return candidate;
  }
  const std::uint64_t device = device_.capacity_bytes();
  Block block;
  block.address = round_up(next_address_, large_page);
  block.bytes = round_up(std::max(device + device / 8, bytes), large_page);
  block.stream = stream;
  block.small = pool.small;
  block.mapped = false;
  next_address_ = block.address + block.bytes + large_page;
  Block* made = make_block(block);
  pool.unmapped.insert(made);
  return made;
}

TorchPolicy::Block* TorchExpandablePolicy::map_front(Pool& pool, Block* block,
                                                     std::uint64_t bytes) {
  const std::uint64_t page = page_of(pool.small);
  const std::uint64_t wanted = std::min(round_up(bytes, page), block->bytes);
  for (std::uint64_t taken = 0; taken < wanted; taken += page) {
    if (device_.take(page)) continue;
    for (; taken > 0; taken -= page) device_.give_back(page);
    return nullptr;
  }
  pool.unmapped.erase(block);
  if (wanted < block->bytes) {
    Block* rest = block;
    block = split_front(rest, wanted);
    pool.unmapped.insert(rest);
  }
  block->mapped = true;
  merge(pool, block, block->prev);
  merge(pool, block, block->next);
  pool.free.insert(block);
  return block;
}

TorchPolicy::Block* TorchExpandablePolicy::block_from_device(Pool& pool, std::uint64_t bytes,
                                                             StreamId stream) {
  Block* place = find_place(pool, bytes, stream);
  while (!place->mapped || place->bytes < bytes) {
    Block* unmapped = place->mapped ? place->next : place;
    const std::uint64_t lacking = bytes - (place->mapped ? place->bytes : 0);
    place = map_front(pool, unmapped, std::min(lacking, unmapped->bytes));
    if (place == nullptr) return nullptr;
  }
  pool.free.erase(place);
  return place;
}

void TorchExpandablePolicy::release_cached(Pool& pool) {
  const std::vector<Block*> cached(pool.free.begin(), pool.free.end());
  for (Block* block : cached) unmap_whole_pages(pool, block);
}

void TorchExpandablePolicy::unmap_whole_pages(Pool& pool, Block* block) {
  const std::uint64_t page = page_of(pool.small);
  const std::uint64_t first = round_up(block->address, page);
  const std::uint64_t last = round_down(block->address + block->bytes, page);
  if (first >= last) return;
  pool.free.erase(block);
  if (first > block->address) pool.free.insert(split_front(block, first - block->address));
  if (last < block->address + block->bytes) {
    Block* rest = block;
    block = split_front(rest, last - first);
    pool.free.insert(rest);
  }
  for (std::uint64_t at = first; at < last; at += page) device_.give_back(page);
  block->mapped = false;
  merge(pool, block, block->prev);
  merge(pool, block, block->next);
  pool.unmapped.insert(block);
}

}  // namespace headroom::allocator
