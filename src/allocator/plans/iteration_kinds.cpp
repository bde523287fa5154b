// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/iteration_kinds.h"

#include <algorithm>

#include "allocator/plans/plan_book.h"

namespace headroom::allocator {
namespace {

constexpr std::size_t most_kinds = 8;
// The limit for all kinds but the last together, since they are kept in host memory.
constexpr std::size_t most_kept_blocks = std::size_t{1} << 17U;

}  // namespace

const IterationKinds::Kind& IterationKinds::note(const Iteration& iteration) {
  const std::uint64_t before = kinds_.empty() ? 0 : kinds_.back().number;  // 0: of none.
  const Kind& kind = arrive(iteration);
  const auto last = std::find_if(kinds_.begin(), kinds_.end(),
                                 [&](const Kind& each) { return each.number == before; });
  if (last != kinds_.end()) ++last->followers[kind.number];
  return kind;
}

IterationKinds::Kind& IterationKinds::arrive(const Iteration& iteration) {
  const auto known = std::find_if(kinds_.rbegin(), kinds_.rend(), [&](const Kind& kind) {
    return same_shape(kind.smallest, iteration);
  });
  if (known != kinds_.rend()) {
    std::rotate(known.base() - 1, known.base(), kinds_.end());
    Kind& kind = kinds_.back();
    for (std::size_t i = 0; i < iteration.size(); ++i)
      kind.smallest[i].bytes = std::min(kind.smallest[i].bytes, iteration[i].bytes);
    ++kind.count;
    return kind;
  }
  std::size_t blocks = 0;
  std::size_t kept = 0;
  for (; kept + 1 < most_kinds && kept < kinds_.size(); ++kept) {
    blocks += kinds_[kinds_.size() - 1 - kept].smallest.size();
    if (blocks > most_kept_blocks) break;
  }
  forget_all_but(kept);
  kinds_.push_back({iteration, 1, ++next_number_, {}});
  return kinds_.back();
}

// A job whose evaluations all differ has no end of kinds: nothing may stay of those forgotten.
void IterationKinds::forget_all_but(std::size_t kept) {
  const auto first_kept = kinds_.end() - static_cast<std::ptrdiff_t>(kept);
  for (auto gone = kinds_.begin(); gone != first_kept; ++gone) {
    for (auto kind = first_kept; kind != kinds_.end(); ++kind) kind->followers.erase(gone->number);
  }
  kinds_.erase(kinds_.begin(), first_kept);
}

const IterationKinds::Kind* IterationKinds::expected() const {
  const Kind* expected = nullptr;
  std::uint64_t most = 0;
  for (const Kind& kind : kinds_) {
    const auto times = kinds_.back().followers.find(kind.number);
    if (times == kinds_.back().followers.end() || times->second < most) continue;
    most = times->second;
    expected = &kind;
  }
  return expected;
}

}  // namespace headroom::allocator
