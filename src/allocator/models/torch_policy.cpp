// SPDX-License-Identifier: Apache-2.0
#include "allocator/models/torch_policy.h"

#include <algorithm>

namespace headroom::allocator {
namespace {

// The constants of CUDACachingAllocator.cpp.
constexpr std::uint64_t min_block = 512;
constexpr std::uint64_t small_limit = std::uint64_t{1} << 20U;
constexpr std::uint64_t small_segment = std::uint64_t{2} << 20U;
constexpr std::uint64_t large_segment = std::uint64_t{20} << 20U;
constexpr std::uint64_t own_segment_from = std::uint64_t{10} << 20U;
constexpr std::uint64_t own_segment_multiple = std::uint64_t{2} << 20U;

// The address for a request of zero bytes, for which PyTorch returns null and takes nothing. It is
// no block's address, so freeing it does nothing.
constexpr Address no_block = 1;

}  // namespace

std::uint64_t torch_segment_bytes(std::uint64_t bytes) {
  if (bytes <= small_limit) return small_segment;
  if (bytes < own_segment_from) return large_segment;
  return round_up(bytes, own_segment_multiple);
}

TorchPolicy::Stream& TorchPolicy::Pool::of(StreamId id) {
  if (!streams.empty() && streams.front()->id == id) return *streams.front();
  const auto at =
      std::lower_bound(streams.begin(), streams.end(), id,
                       [](const auto& stream, StreamId wanted) { return stream->id < wanted; });
  if (at != streams.end() && (*at)->id == id) return **at;
  return **streams.insert(at, std::make_unique<Stream>(Stream{id, small}));
}

std::optional<Address> TorchPolicy::allocate(const Request& request) {
  if (request.bytes == 0) return no_block;
  if (request.bytes > device_.capacity_bytes()) return std::nullopt;
  const std::uint64_t bytes = round_up(std::max(request.bytes, min_block), min_block);
  Stream& stream = (bytes <= small_limit ? small_ : large_).of(request.stream);
  const Place place = best_fit(stream, bytes);
  Block* block = stream.free.at(place);
  if (block != nullptr) {
    stream.free.erase(place);
  } else {
    block = block_from_device(stream, bytes);
    if (block == nullptr) {
      release_cached(large_);
      release_cached(small_);
      block = block_from_device(stream, bytes);
    }
    note_device();
    if (block == nullptr) return std::nullopt;
  }
  if (splits(*block, bytes)) {
    Block* rest = block;
    block = split_front(rest, bytes);
    stream.insert_free(rest);
  }
  block->allocated = true;
  block->tag = request.tag;
  live_.insert(block->address, block);
  tracker_.add_live(block->tag, block->bytes);
  return block->address;
}

void TorchPolicy::free(Address address) {
  Block* block = live_.take(address);
  if (block == nullptr) return;
  tracker_.remove_live(block->tag, block->bytes);
  block->allocated = false;
  merge(block, block->prev);
  merge(block, block->next);
  block->stream->insert_free(block);
}

void TorchPolicy::retag(Address address, Component tag) {
  Block* block = live_.find(address);
  if (block == nullptr) return;
  tracker_.move_live(block->tag, tag, block->bytes);
  block->tag = tag;
}

void TorchPolicy::synchronize(StreamId /*stream*/) {}

void TorchPolicy::note_device() {
  tracker_.set_reserved(device_.used_bytes());
  tracker_.set_device_calls(device_.calls(), device_.ns());
}

TorchPolicy::Place TorchPolicy::best_fit(const Stream& stream, std::uint64_t bytes) const {
  return stream.free.lower_bound({bytes, 0});
}

TorchPolicy::Block* TorchPolicy::block_from_device(Stream& stream, std::uint64_t bytes) {
  const std::uint64_t segment = torch_segment_bytes(bytes);
  if (!device_.take(segment)) return nullptr;
  Block block;
  block.address = next_address_;
  block.bytes = segment;
  block.stream = &stream;
  next_address_ += segment;
  return make_block(block);
}

bool TorchPolicy::splits(const Block& block, std::uint64_t bytes) const {
  const std::uint64_t rest = block.bytes - bytes;
  return block.stream->small ? rest >= min_block : rest > small_limit;
}

void TorchPolicy::release_cached(Pool& pool) {
  for (const auto& stream : pool.streams) {
    for (Block* block : stream->free.all()) {
      if (block->prev != nullptr || block->next != nullptr) continue;
      device_.give_back(block->bytes);
      stream->erase_free(block);
      drop_block(block);
    }
  }
}

TorchPolicy::Block* TorchPolicy::make_block(const Block& block) {
  if (dropped_.empty()) return &blocks_.emplace_back(block);
  Block* made = dropped_.back();
  dropped_.pop_back();
  *made = block;
  return made;
}

void TorchPolicy::drop_block(Block* block) {
  dropped_.push_back(block);
}

TorchPolicy::Block* TorchPolicy::split_front(Block* block, std::uint64_t bytes) {
  Block front = *block;
  front.bytes = bytes;
  front.next = block;
  Block* made = make_block(front);
  if (made->prev != nullptr) made->prev->next = made;
  block->prev = made;
  block->address += bytes;
  block->bytes -= bytes;
  return made;
}

void TorchPolicy::merge(Block* block, Block* neighbour) {
  if (neighbour == nullptr || neighbour->allocated || neighbour->mapped != block->mapped) return;
  if (neighbour->mapped)
    block->stream->erase_free(neighbour);
  else
    block->stream->erase_unmapped(neighbour);
  if (neighbour == block->prev) {
    block->address = neighbour->address;
    block->prev = neighbour->prev;
    if (block->prev != nullptr) block->prev->next = block;
  } else {
    block->next = neighbour->next;
    if (block->next != nullptr) block->next->prev = block;
  }
  block->bytes += neighbour->bytes;
  drop_block(neighbour);
}

}  // namespace headroom::allocator
