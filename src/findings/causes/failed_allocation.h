// SPDX-License-Identifier: Apache-2.0
// A failed allocation with every figure that its message gives, whichever program wrote it.
// shortfall.h adds the figures up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "findings/causes/cause_rule.h"
#include "logs/observation.h"

namespace headroom::findings {

struct FailedAllocation {
  const logs::Observation* seen = nullptr;
  std::optional<Bytes> asked;
  std::optional<Bytes> capacity;   // The card's, as the program sees it.
  std::optional<Bytes> free;       // As the driver reported to the program.
  std::optional<Bytes> allocated;  // The job's live tensors or buffers.
  std::optional<Bytes> idle;       // Reserved by the job's allocator but not in use.
  std::optional<Bytes> process;    // What the whole process has, PyTorch included.
  std::optional<Bytes> allowed;    // A limit set in the process.
  Bytes named_others;              // What the message says that other processes hold.

  int figures() const;
  // The capacity minus what is free and what the job has; nothing if a figure is missing. It
  // includes some hundred MiB for the job's own context and libraries.
  std::optional<Bytes> unaccounted() const;
};

// Finds every failed allocation in the logs, in their order.
std::vector<FailedAllocation> failed_allocations(const logs::Observations& log);
// Returns the first of those with the most figures. What its message leaves out is filled in from
// other lines: the card's size, the buffers that the job already had.
std::optional<FailedAllocation> failed_allocation(const LogSubject& subject);

// Whether it is more than any machine has: 1 PiB and more. Such a number was computed wrongly.
bool is_no_size(const std::optional<Bytes>& asked);
bool is_before(const logs::Observation& one, const logs::Observation& other);
// Whether the job did more of its work after this.
bool recovered(const logs::Observations& log, const logs::Observation& failure);

// Whether work was done and nothing failed in any of the logs.
bool ran_well(const logs::Observations& log);

// What TensorFlow's allocator says after a failure: how much it may take, and how much of that live
// tensors use. Nothing if it said nothing.
struct Arena {
  Bytes limit, used;
};
std::optional<Arena> tensorflow_arena(const logs::Observations& log);

}  // namespace headroom::findings
