// SPDX-License-Identifier: Apache-2.0
// The contract that every allocation policy keeps: ours, and the models of other allocators through
// which traces and estimates are replayed. The trainer and `headroom plan` talk to a Policy and to
// nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "allocator/component.h"

namespace headroom::allocator {

using Address = std::uint64_t;   // Where a block is on the device. A block is never at 0.
using StreamId = std::uint32_t;  // 0 is the default stream.
using NameId = std::uint16_t;    // A tensor's name in a NameTable; 0 is no name.

struct Request {
  std::uint64_t bytes = 0;
  Component tag = Component::other;
  StreamId stream = 0;
  NameId name = 0;
};

// "Live" counts blocks in use after rounding to the policy's smallest block (512 bytes in PyTorch
// and in ours), which is what torch.cuda.memory_allocated() counts. "Reserved" is what was taken
// from the device.
struct Usage {
  std::uint64_t live_bytes = 0;
  std::uint64_t live_peak_bytes = 0;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t reserved_peak_bytes = 0;
  ByComponent live;          // Adds up to live_bytes.
  ByComponent live_at_peak;  // Adds up to live_peak_bytes; the first moment that reached the peak.
  // Calls made to the device so far: allocate, free, create, map, …
  std::uint64_t device_calls = 0;
  std::uint64_t device_ns = 0;  // What they cost, if the device knows (Capabilities::costs).
  // How often memory had to be moved or given back before a request could be met (headroom's only).
  std::uint64_t repairs = 0;
};

class Policy {
 public:
  virtual ~Policy() = default;

  // Returns the block's address, or nothing if the capacity does not allow it. A request of zero
  // bytes gets a block of the smallest size, or, in models of PyTorch, an address without a block.
  // On failure no live block is moved or lost.
  virtual std::optional<Address> allocate(const Request& request) = 0;

  // Requires: `address` came from allocate() and has not been freed since.
  virtual void free(Address address) = 0;

  // Moves a live block's bytes to another component: a gradient is born as a backward temporary.
  // live_at_peak is not rewritten. Requires the same as free().
  virtual void retag(Address address, Component tag) = 0;

  // Tells the policy that everything queued on the stream is done, so memory that waited for it may
  // be reused.
  virtual void synchronize(StreamId stream) = 0;

  virtual const Usage& usage() const = 0;

  // The name by which commands and reports know it: "headroom", "torch", "exact", …
  virtual std::string_view name() const = 0;
};

}  // namespace headroom::allocator
