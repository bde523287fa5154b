// SPDX-License-Identifier: Apache-2.0
// A failed allocation with every figure that its message gives, whoever words it. What the
// figures add up to is in shortfall.h.
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
  std::optional<Bytes> capacity;   // Of the card, as the program sees it.
  std::optional<Bytes> free;       // As the driver told the program.
  std::optional<Bytes> allocated;  // By the job's live tensors or buffers.
  std::optional<Bytes> idle;       // Reserved by the job's allocator and not given out.
  std::optional<Bytes> process;    // What the whole process has, PyTorch and the rest.
  std::optional<Bytes> allowed;    // A limit set in the process.
  Bytes named_others;              // What the message says that other processes hold.

  int figures() const;
  // What is left of the capacity without what is free and what the job has; nothing where a figure
  // is missing. Includes some hundred MiB of context and libraries of the job itself.
  std::optional<Bytes> unaccounted() const;
};

// Every failed allocation of the logs, in their order.
std::vector<FailedAllocation> failed_allocations(const logs::Observations& log);
// The first of those with the most figures. What its message leaves out is filled in from other
// lines: a card's size, the buffers that the job already had.
std::optional<FailedAllocation> failed_allocation(const LogSubject& subject);

bool is_before(const logs::Observation& one, const logs::Observation& other);
// The job did some more of its work after this.
bool recovered(const logs::Observations& log, const logs::Observation& failure);

// Work was done, and nothing failed in all of the logs.
bool ran_well(const logs::Observations& log);

// TensorFlow's allocator, as it tells its state after a failure: what it may take and what live
// tensors use of it. Nothing where it did not.
struct Arena {
  Bytes limit, used;
};
std::optional<Arena> tensorflow_arena(const logs::Observations& log);

}  // namespace headroom::findings
