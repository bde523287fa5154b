// SPDX-License-Identifier: Apache-2.0
#include "allocator/models/torch_expandable_policy.h"

#include <algorithm>
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

// Among blocks that fit, a block at the growing end of its segment counts as being as large as it
// could become, so that the end is kept for requests that need it.
TorchPolicy::Place TorchExpandablePolicy::best_fit(const Stream& stream,
                                                   std::uint64_t bytes) const {
  const SortedBlocks<Block>& free = stream.free;
  const auto could_become = [](const Block* block) {
    const bool grows = block->next != nullptr && !block->next->mapped;
    return block->bytes + (grows ? block->next->bytes : 0);
  };
  Place best = free.lower_bound({bytes, 0});
  if (free.at(best) == nullptr) return best;
  for (;;) {
    const Place next = free.next(best);
    const Block* larger = free.at(next);
    if (larger == nullptr || could_become(larger) >= could_become(free.at(best))) return best;
    best = next;
  }
}

bool TorchExpandablePolicy::splits(const Block& block, std::uint64_t bytes) const {
  return block.bytes - bytes >= min_block;
}

// Finds the lowest run of unmapped and free blocks that has room, starting at an unmapped block or
// the free one below it; else makes a new segment.
TorchPolicy::Block* TorchExpandablePolicy::find_place(Stream& stream, std::uint64_t bytes) {
  const auto has_room = [bytes](const Block* block) {
    std::uint64_t room = 0;
    for (; room < bytes && block != nullptr && !block->allocated; block = block->next)
      room += block->bytes;
    return room >= bytes;
  };
  const SortedBlocks<Block>& unmapped = stream.unmapped;
  for (auto at = unmapped.lower_bound({}); unmapped.at(at) != nullptr; at = unmapped.next(at)) {
    Block* candidate = unmapped.at(at);
    if (candidate->prev != nullptr && !candidate->prev->allocated) candidate = candidate->prev;
    if (has_room(candidate)) return candidate;
  }
  const std::uint64_t device = device_.capacity_bytes();
  Block block;
  block.address = round_up(next_address_, large_page);
  block.bytes = round_up(std::max(device + device / 8, bytes), large_page);
  block.stream = &stream;
  block.mapped = false;
  device_.note_call(assumed_costs.reserve);
  next_address_ = block.address + block.bytes + large_page;
  Block* made = make_block(block);
  stream.insert_unmapped(made);
  return made;
}

TorchPolicy::Block* TorchExpandablePolicy::map_front(Block* block, std::uint64_t bytes) {
  Stream& stream = *block->stream;
  const std::uint64_t page = page_of(stream.small);
  const std::uint64_t wanted = std::min(round_up(bytes, page), block->bytes);
  for (std::uint64_t taken = 0; taken < wanted; taken += page) {
    if (device_.take(page)) continue;
    for (; taken > 0; taken -= page) device_.give_back(page);
    return nullptr;
  }
  device_.note_call(assumed_costs.allow_access);  // Once for all pages that were mapped.
  stream.erase_unmapped(block);
  if (wanted < block->bytes) {
    Block* rest = block;
    block = split_front(rest, wanted);
    stream.insert_unmapped(rest);
  }
  block->mapped = true;
  merge(block, block->prev);
  merge(block, block->next);
  stream.insert_free(block);
  return block;
}

TorchPolicy::Block* TorchExpandablePolicy::block_from_device(Stream& stream, std::uint64_t bytes) {
  Block* place = find_place(stream, bytes);
  while (!place->mapped || place->bytes < bytes) {
    Block* unmapped = place->mapped ? place->next : place;
    const std::uint64_t lacking = bytes - (place->mapped ? place->bytes : 0);
    place = map_front(unmapped, std::min(lacking, unmapped->bytes));
    if (place == nullptr) return nullptr;
  }
  stream.erase_free(place);
  return place;
}

void TorchExpandablePolicy::release_cached(Pool& pool) {
  std::vector<Block*> cached;
  for (const auto& stream : pool.streams) {
    const std::vector<Block*> own = stream->free.all();
    cached.insert(cached.end(), own.begin(), own.end());
  }
  for (Block* block : cached) unmap_whole_pages(block);
}

void TorchExpandablePolicy::unmap_whole_pages(Block* block) {
  Stream& stream = *block->stream;
  const std::uint64_t page = page_of(stream.small);
  const std::uint64_t first = round_up(block->address, page);
  const std::uint64_t last = round_down(block->address + block->bytes, page);
  if (first >= last) return;
  stream.erase_free(block);
  if (first > block->address) stream.insert_free(split_front(block, first - block->address));
  if (last < block->address + block->bytes) {
    Block* rest = block;
    block = split_front(rest, last - first);
    stream.insert_free(rest);
  }
  device_.note_call(assumed_costs.wait);
  for (std::uint64_t at = first; at < last; at += page) device_.give_back(page);
  block->mapped = false;
  merge(block, block->prev);
  merge(block, block->next);
  stream.insert_unmapped(block);
}

}  // namespace headroom::allocator
