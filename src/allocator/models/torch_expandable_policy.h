// SPDX-License-Identifier: Apache-2.0
// PyTorch's allocator with expandable_segments:True (as of 2.6). Each stream has one address range
// of 9/8 of the device per pool. Physical pages of 2 MiB (small pool) or 20 MiB (large pool) are
// mapped at the lowest addresses where a request fits, and every remainder is split off. When the
// device refuses, every free page is unmapped and given back.
#pragma once

#include <cstdint>

#include "allocator/models/torch_policy.h"

namespace headroom::allocator {

class TorchExpandablePolicy final : public TorchPolicy {
 public:
  // Taking a page means creating it and mapping it, and giving it back unmapping it and destroying
  // it. Access is allowed once for all pages of a growth, and the stream is waited for once before
  // pages of a block are unmapped.
  explicit TorchExpandablePolicy(std::uint64_t capacity_bytes)
      : TorchPolicy(capacity_bytes, {assumed_costs.create + assumed_costs.map,
                                     assumed_costs.unmap + assumed_costs.destroy, 2, 2}) {}
  std::string_view name() const override { return "torch-expandable"; }

 protected:
  Place best_fit(const Stream& stream, std::uint64_t bytes) const override;
  Block* block_from_device(Stream& stream, std::uint64_t bytes) override;
  bool splits(const Block& block, std::uint64_t bytes) const override;
  void release_cached(Pool& pool) override;

 private:
  Block* find_place(Stream& stream, std::uint64_t bytes);
  // Maps pages under the first `bytes` of an unmapped block and merges it with free neighbours.
  // Returns the resulting free block, or null without changing anything if the device refuses.
  Block* map_front(Block* block, std::uint64_t bytes);
  void unmap_whole_pages(Block* block);
};

}  // namespace headroom::allocator
