// SPDX-License-Identifier: Apache-2.0
// Who may take how much of a device that several processes share. The allocator asks before it
// takes memory from the device, and says when it has given some back; what lies between is its own
// affair.
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
  std::uint64_t share_bytes = 0;  // That it can have whatever others do.
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
  // says how much is left and who holds the rest; with other codes where the budget cannot be
  // asked.
  virtual Status take(std::uint64_t bytes) = 0;
  // After the device has them back. Fails, and changes nothing, for more than is held.
  virtual Status give_back(std::uint64_t bytes) = 0;
  virtual Result<BudgetState> state() = 0;
};

// What take() says where the budget does not allow it.
Error over_budget(std::uint64_t bytes, const BudgetState& state);

}  // namespace headroom::allocator
