// SPDX-License-Identifier: Apache-2.0
// Why a request could not be met: a value for programs, and its text for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/forensics/batch_observer.h"
#include "allocator/policy.h"
#include "base/error.h"

namespace headroom::allocator {

// Iterations where the allocator knows where they begin, else events.
enum class AgeUnit : std::uint8_t { iterations, events };

// What lives since `from` or more, and less than `below`, iterations or events. Age 0 is the
// present iteration.
struct AgeBand {
  std::uint64_t from = 0;
  std::optional<std::uint64_t> below;  // Nothing: however old.
  ByComponent live;
};

// Blocks of one size and component whose names are the same but for the numbers of layers.
struct Owner {
  Component tag = Component::other;
  std::string name = {};  // Empty where no name was given; "layers.*.mlp" for several layers'.
  std::uint64_t block_bytes = 0;
  std::uint64_t count = 0;

  std::uint64_t bytes() const { return block_bytes * count; }
  bool operator==(const Owner&) const = default;
};

// Why free memory is not usable memory. The first three add up to OutOfMemory::free_bytes.
struct FreeSplit {
  std::uint64_t hard_bytes = 0;      // Shares a page, or a plain allocation, with live blocks.
  std::uint64_t soft_bytes = 0;      // Whole pages or plain allocations: can be moved or released.
  std::uint64_t stream_bytes = 0;    // Work queued on another stream may still touch it.
  std::uint64_t rounding_bytes = 0;  // Not free, yet not asked for: the ends of live blocks.
};

// What a walk over all blocks shows.
struct HeapDetail {
  std::uint64_t blocks = 0;
  AgeUnit age_unit = AgeUnit::events;
  std::vector<AgeBand> ages = {};     // From young to old, without those that hold nothing.
  std::vector<Owner> owners = {};     // The ten that hold most, in order.
  std::optional<Owner> largest = {};  // The largest single block; `count` is of this size.
  FreeSplit split = {};
  std::uint64_t defragmented_bytes = 0;  // Would have fitted with every free byte in one piece.
};

// Of the device: not this allocator's, and not free. Other processes, the driver's context,
// libraries.
struct OutsideMemory {
  std::uint64_t held_bytes = 0;
  std::uint64_t total_bytes = 0;  // The device.
  std::string source = {};        // Who counted.
};

struct BatchForecast {
  std::uint64_t batch = 0;  // That did not fit; 0: not known.
  BatchBasis basis = BatchBasis::proportional;
  std::uint64_t per_sample_bytes = 0;
  std::uint64_t largest = 0;               // With as much hard free memory as there was.
  std::uint64_t largest_defragmented = 0;  // With none. Both: 0 if not one sample fits.
};

struct OutOfMemory {
  Request request;
  std::uint64_t capacity_bytes = 0;
  Usage usage;
  std::uint64_t free_bytes = 0;          // Inside mapped pages.
  std::uint64_t largest_free_bytes = 0;  // The largest block among them that the stream may use.
  std::uint64_t waiting_bytes = 0;       // Of free_bytes: may still be in use by another stream.
  std::uint64_t spare_bytes = 0;         // Whole pages that can be mapped anywhere.
  std::uint64_t fits_bytes = 0;          // A request of this size would have been met.
  std::optional<Error> device;           // What the device said, where it refused.
  std::string name;                      // Of the tensor that was asked for; empty: not known.
  std::optional<HeapDetail> heap;
  std::optional<OutsideMemory> outside;
  std::optional<Error> no_outside;  // Why `outside` is missing: nobody counts, or who did failed.
  std::optional<BatchForecast> batch;
};

// "asked for 3.99 GiB (logits) …": what was asked, what is live by component and age, who holds
// most, what is free and why it does not help, what would have fitted, and what to do next. Several
// lines, the last one without an end.
std::string to_text(const OutOfMemory& problem);

// The same as an Error: the first sentence as the message, with what the device said where it is
// the one that had no more, and the last as `next`.
Error to_error(const OutOfMemory& problem);

}  // namespace headroom::allocator
