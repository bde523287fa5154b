// SPDX-License-Identifier: Apache-2.0
// How several processes that share a device divide its memory. The allocator asks before it takes
// memory from the device, and reports when it has given some back; what it does with the memory in
// between is its own business.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace headroom::allocator {

struct BudgetMember {
  std::uint64_t pid = 0;
  std::string command;
  std::uint64_t held_bytes = 0;
  std::uint64_t share_bytes = 0;  // What it can always have, whatever the others do.
  bool self = false;
};

struct BudgetState {
  std::uint64_t total_bytes = 0;
  std::uint64_t available_bytes = 0;  // What take() would grant this process now.
  std::vector<BudgetMember> members;
};

// Any thread may call any function.
class Budget {
 public:
  virtual ~Budget() = default;

  // Counts the bytes as held by this process, all of them or none. Fails with out_of_memory, which
  // says how much is left and who holds the rest, or with another code if the budget cannot be
  // asked.
  virtual Status take(std::uint64_t bytes) = 0;
  // Is called after the memory went back to the device. Fails and changes nothing if `bytes` is
  // more than this process holds.
  virtual Status give_back(std::uint64_t bytes) = 0;
  virtual Result<BudgetState> state() = 0;
};

// The error of take() when the budget does not allow the amount.
Error over_budget(std::uint64_t bytes, const BudgetState& state);

}  // namespace headroom::allocator
