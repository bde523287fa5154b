// SPDX-License-Identifier: Apache-2.0
#include "allocator/budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"

namespace headroom::allocator {
namespace {

std::string size(std::uint64_t bytes) {
  return to_string(Bytes{bytes});
}

std::string held_by(const BudgetMember& member) {
  return fmt::format("{} ({}) {} of a share of {}", member.self ? "this process" : member.command,
                     member.pid, size(member.held_bytes), size(member.share_bytes));
}

}  // namespace

Error over_budget(std::uint64_t bytes, const BudgetState& state) {
  std::vector<BudgetMember> members = state.members;
  std::stable_sort(members.begin(), members.end(),
                   [](const auto& a, const auto& b) { return a.held_bytes > b.held_bytes; });
  std::string holders;
  for (const BudgetMember& member : members)
    holders += (holders.empty() ? "" : ", ") + held_by(member);
  return {Errc::out_of_memory,
          fmt::format("taking {} of the device: {} of {} are left for this process; held: {}",
                      size(bytes), size(state.available_bytes), size(state.total_bytes), holders),
          "end or shrink another job on this card, or join with a larger share"};
}

}  // namespace headroom::allocator
