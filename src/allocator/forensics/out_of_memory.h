// SPDX-License-Identifier: Apache-2.0
// The explanation of a request that could not be met: a value for programs, and its text for
// people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/forensics/batch_observer.h"
#include "allocator/policy.h"
#include "base/error.h"

namespace headroom::allocator {

// Ages count iterations if the allocator knows where they begin, else events.
enum class AgeUnit : std::uint8_t { iterations, events };

// The live blocks that are at least `from`, and less than `below`, iterations or events old. Age 0
// is the present iteration.
struct AgeBand {
  std::uint64_t from = 0;
  std::optional<std::uint64_t> below;  // Nothing if there is no upper limit.
  ByComponent live;
};

// Blocks of one size and component whose names differ at most in the numbers of layers.
struct Owner {
  Component tag = Component::other;
  std::string name = {};  // Empty if no name was given; "layers.*.mlp" stands for several layers.
  std::uint64_t block_bytes = 0;
  std::uint64_t count = 0;

  std::uint64_t bytes() const { return block_bytes * count; }
  bool operator==(const Owner&) const = default;
};

// Free memory by what keeps it from being used. The first three add up to OutOfMemory::free_bytes.
struct FreeSplit {
  std::uint64_t hard_bytes = 0;  // Shares a page, or a plain allocation, with live blocks.
  // Whole pages or plain allocations, which can be moved or released.
  std::uint64_t soft_bytes = 0;
  std::uint64_t stream_bytes = 0;  // Work queued on another stream may still touch it.
  // Ends of live blocks that the program did not ask for; not free.
  std::uint64_t rounding_bytes = 0;
};

// What is found by going through all blocks.
struct HeapDetail {
  std::uint64_t blocks = 0;
  AgeUnit age_unit = AgeUnit::events;
  std::vector<AgeBand> ages = {};     // From young to old; bands without blocks are left out.
  std::vector<Owner> owners = {};     // The ten largest, in order.
  std::optional<Owner> largest = {};  // The largest single block; `count` counts those of its size.
  FreeSplit split = {};
  // The largest request that would fit if all free bytes were contiguous.
  std::uint64_t defragmented_bytes = 0;
};

// Device memory that is neither this allocator's nor free: other processes, the driver's context,
// libraries.
struct OutsideMemory {
  std::uint64_t held_bytes = 0;
  std::uint64_t total_bytes = 0;  // The whole device's.
  std::string source = {};        // The call that reported it.
};

struct BatchForecast {
  std::uint64_t batch = 0;  // The batch that did not fit; 0 if it is not known.
  BatchBasis basis = BatchBasis::proportional;
  std::uint64_t per_sample_bytes = 0;
  std::uint64_t largest = 0;  // The largest batch with as much hard free memory as there was.
  // The same without any. Both are 0 if not one sample fits.
  std::uint64_t largest_defragmented = 0;
};

struct OutOfMemory {
  Request request;
  std::uint64_t capacity_bytes = 0;
  Usage usage;
  std::uint64_t free_bytes = 0;          // Inside mapped pages.
  std::uint64_t largest_free_bytes = 0;  // The largest block among them that the stream may use.
  std::uint64_t waiting_bytes = 0;  // The part of free_bytes that another stream may still use.
  std::uint64_t spare_bytes = 0;    // Whole pages that can be mapped anywhere.
  std::uint64_t fits_bytes = 0;     // The largest request that would have been met.
  std::optional<Error> device;      // The device's own error, if it refused.
  std::string name;                 // The requested tensor's; empty if it is not known.
  std::optional<HeapDetail> heap;
  std::optional<OutsideMemory> outside;
  // Why `outside` is missing: no driver counts it, or the call failed.
  std::optional<Error> no_outside;
  std::optional<BatchForecast> batch;
  // Whether a job file says what was run and how much memory it may have, which can be changed.
  bool has_job_file = true;
};

// Says what was asked for ("asked for 3.99 GiB (logits) …"), what is live by component and age, who
// holds most, what is free and why it does not help, what would have fitted, and what to do next.
// Several lines; the last one has no line end.
std::string to_text(const OutOfMemory& problem);

// The same as an Error. The message is the first sentence, followed by the device's own error if
// the device ran out; `next` is the last sentence.
Error to_error(const OutOfMemory& problem);

}  // namespace headroom::allocator
