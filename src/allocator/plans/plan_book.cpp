// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/plan_book.h"

#include <algorithm>
#include <utility>

#include "base/require.h"

namespace headroom::allocator {
namespace {

constexpr std::size_t max_plans = 16;

// The limit for all plans together, since they are kept in host memory.
constexpr std::size_t max_blocks = std::size_t{1} << 21U;

// A common plan may take at most 1/common_waste more memory than the larger of two.
constexpr std::uint64_t common_waste = 64;

enum class Match : std::uint8_t { none, room, exact };

// How well a plan matches, and whether it is of the kind that is expected.
using Rank = std::pair<Match, bool>;

// Compares the plan's first allocations with those of `begun` and one more request.
Match compare(const Plan& plan, std::span<const IterationBlock> begun, std::uint64_t bytes,
              StreamId stream) {
  const auto next = static_cast<std::uint32_t>(begun.size());
  if (plan.size() <= next || !plan.expects(next, bytes, stream)) return Match::none;
  bool exact = plan.block(next).bytes == bytes;
  for (std::uint32_t i = 0; i < next; ++i) {
    if (!plan.expects(i, begun[i].bytes, begun[i].stream)) return Match::none;
    exact = exact && plan.block(i).bytes == begun[i].bytes;
  }
  return exact ? Match::exact : Match::room;
}

PlanPointer lay_out_large(const Iteration& iteration, std::uint64_t least_bytes) {
  Iteration large = iteration;
  for (IterationBlock& block : large)
    if (block.bytes < least_bytes) block.dies = IterationBlock::never;
  return std::make_shared<const Plan>(iteration, lay_out(large));
}

bool holds(const Plan& plan, const Iteration& iteration) {
  if (!same_shape(plan.iteration(), iteration)) return false;
  return std::equal(iteration.begin(), iteration.end(), plan.iteration().begin(),
                    [](const auto& block, const auto& slot) {
                      return block.bytes <= slot.bytes &&
                             block.bytes >= slot.bytes / most_shrinking;
                    });
}

std::vector<std::uint64_t> sizes_of(const Iteration& iteration) {
  std::vector<std::uint64_t> sizes;
  sizes.reserve(iteration.size());
  for (const IterationBlock& block : iteration) sizes.push_back(block.bytes);
  return sizes;
}

// Returns the plan with these sizes taken into account: the plan itself, if it knows of sizes as
// small.
PlanPointer knowing(const PlanPointer& plan, const std::vector<std::uint64_t>& sizes) {
  const bool is_news = !std::equal(sizes.begin(), sizes.end(), plan->least().begin(),
                                   [](auto size, auto least) { return size >= least; });
  return is_news ? std::make_shared<const Plan>(*plan, sizes) : plan;
}

}  // namespace

bool same_shape(const Iteration& a, const Iteration& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.stream == y.stream && x.dies == y.dies;
  });
}

PlanPointer plan_for(const Iteration& iteration, const Iteration& smallest,
                     const PlanPointer& known, std::uint64_t least_bytes) {
  const auto knows = [&](const PlanPointer& plan) { return knowing(plan, sizes_of(smallest)); };
  auto alone = lay_out_large(iteration, least_bytes);
  if (!known) return knows(alone);
  Iteration larger = iteration;
  for (std::size_t i = 0; i < larger.size(); ++i)
    larger[i].bytes = std::max(larger[i].bytes, known->iteration()[i].bytes);
  if (larger == iteration) return knows(knowing(alone, known->least()));
  auto common = lay_out_large(larger, least_bytes);
  const std::uint64_t needed = std::max(alone->bytes(), known->bytes());
  if (common->bytes() > needed + needed / common_waste) return knows(alone);
  return knows(knowing(common, known->least()));
}

void PlanBook::add(PlanPointer plan) {
  std::erase_if(plans_, [&](const PlanPointer& old) {
    if (!holds(*plan, old->iteration())) return false;
    plan = knowing(plan, old->least());
    return true;
  });
  std::size_t blocks = plan->size();
  plans_.push_back(std::move(plan));
  std::size_t kept = 1;
  for (; kept < std::min(plans_.size(), max_plans); ++kept) {
    blocks += plans_[plans_.size() - 1 - kept]->size();
    if (blocks > max_blocks) break;
  }
  plans_.erase(plans_.begin(), plans_.end() - static_cast<std::ptrdiff_t>(kept));
}

void PlanBook::drop_from(std::uint64_t bytes) {
  std::erase_if(plans_, [bytes](const PlanPointer& plan) { return plan->bytes() >= bytes; });
}

PlanPointer PlanBook::use(std::size_t index) {
  const auto used = plans_.begin() + static_cast<std::ptrdiff_t>(index);
  std::rotate(used, used + 1, plans_.end());
  return plans_.back();
}

PlanPointer PlanBook::find(const Iteration& iteration) {
  for (std::size_t i = plans_.size(); i-- > 0;)
    if (holds(*plans_[i], iteration)) {
      plans_[i] = knowing(plans_[i], sizes_of(iteration));
      return use(i);
    }
  return nullptr;
}

PlanPointer PlanBook::alike(const Iteration& iteration) const {
  for (std::size_t i = plans_.size(); i-- > 0;)
    if (same_shape(plans_[i]->iteration(), iteration)) return plans_[i];
  return nullptr;
}

PlanPointer PlanBook::choose(std::span<const IterationBlock> begun, std::uint64_t bytes,
                             StreamId stream, const Piece& piece, const Iteration* expected) {
  std::size_t best = plans_.size();
  Rank best_rank;
  for (std::size_t i = plans_.size(); i-- > 0;) {
    const Plan& plan = *plans_[i];
    if (plan.bytes() > piece.bytes || plan.stream() != piece.stream) continue;
    const Match match = compare(plan, begun, bytes, stream);
    if (match == Match::none) continue;
    const Rank rank = {match, expected != nullptr && same_shape(plan.iteration(), *expected)};
    if (best != plans_.size() && rank <= best_rank) continue;
    best = i;
    best_rank = rank;
  }
  return best == plans_.size() ? nullptr : use(best);
}

StreamId PlanBook::stream() const {
  require(!plans_.empty(), "a book that is asked for its plans' stream has a plan");
  return plans_.back()->stream();
}

std::uint64_t PlanBook::bytes() const {
  std::uint64_t bytes = 0;
  for (const PlanPointer& plan : plans_) bytes = std::max(bytes, plan->bytes());
  return bytes;
}

}  // namespace headroom::allocator
