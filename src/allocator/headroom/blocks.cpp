// SPDX-License-Identifier: Apache-2.0
// Functions about single blocks, for programs that know less, or more, about a block than free()
// requires.
#include "allocator/headroom/visit_shards.h"

namespace headroom::allocator {

bool HeadroomAllocator::free_after(Address address, std::span<const StreamId> streams) {
  const auto take = [&](std::size_t number, Shard& shard) HEADROOM_REQUIRES(shard.mutex()) {
    for (const StreamId stream : streams) static_cast<void>(shard.record_stream(address, stream));
    if (!shard.free(address)) return false;
    note_peak(number, shard);
    return true;
  };
  const bool freed = at_owner(address, take);
  if (!freed) ++foreign_frees_;
  return freed;
}

std::optional<HeadroomAllocator::Block> HeadroomAllocator::block_around(Address address) const {
  if (const auto bytes = block_bytes(address)) return Block{address, *bytes};
  std::optional<Block> block;
  any_shard(true, [&](std::size_t /*number*/, Shard& shard) HEADROOM_REQUIRES(shard.mutex()) {
    shard.for_each_block([&](Address start, std::uint64_t bytes) {
      if (address - start < bytes && address >= start) block = Block{start, bytes};
    });
    return block.has_value();
  });
  return block;
}

}  // namespace headroom::allocator
