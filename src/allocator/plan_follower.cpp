// SPDX-License-Identifier: Apache-2.0
#include "allocator/plan_follower.h"

#include <algorithm>
#include <utility>

namespace headroom::allocator {
namespace {

// How far ahead an allocation is looked for that the plan does not expect yet.
constexpr std::uint32_t look_ahead = 16;

// A slot serves what is smaller, in a job whose lengths vary, but not what is of another kind.
constexpr std::uint64_t most_shrinking = 64;

// Beyond this many, checking a slot against them costs more than it brings.
constexpr std::size_t max_late = 64;

}  // namespace

PlanFollower::PlanFollower(Iteration iteration, Layout layout)
    : iteration_(std::move(iteration)),
      layout_(std::move(layout)),
      first_expiring_(iteration_.size() + 2),
      states_(iteration_.size(), State::free),
      sizes_(iteration_.size()) {
  const auto placed = [&](std::uint32_t i) { return layout_.offsets[i] != Layout::nowhere; };
  for (std::uint32_t i = 0; i < iteration_.size(); ++i)
    if (placed(i)) ++first_expiring_[iteration_[i].dies + 1];
  for (std::size_t k = 1; k < first_expiring_.size(); ++k)
    first_expiring_[k] += first_expiring_[k - 1];
  expiring_.resize(first_expiring_.back());
  std::vector<std::uint32_t> filled = first_expiring_;
  for (std::uint32_t i = 0; i < iteration_.size(); ++i)
    if (placed(i)) expiring_[filled[iteration_[i].dies]++] = i;
}

void PlanFollower::begin() {
  expire_to(static_cast<std::uint32_t>(iteration_.size()));
  expired_to_ = 0;
  next_ = 0;
  deviations_ = 0;
}

// What should be free before this allocation and is not is late.
void PlanFollower::expire_to(std::uint32_t allocation) {
  const std::uint32_t from = first_expiring_[expired_to_ + 1];
  const std::uint32_t to = first_expiring_[allocation + 1];
  for (std::uint32_t i = from; i < to; ++i) {
    if (states_[expiring_[i]] != State::live) continue;
    states_[expiring_[i]] = State::late;
    late_.push_back(expiring_[i]);
  }
  expired_to_ = allocation;
}

std::optional<std::uint32_t> PlanFollower::match(std::uint64_t bytes, StreamId stream) {
  const auto count = static_cast<std::uint32_t>(iteration_.size());
  const std::uint32_t end = std::min(count, next_ + look_ahead);
  for (std::uint32_t i = next_; i < end; ++i)
    if (iteration_[i].bytes == bytes && iteration_[i].stream == stream) return i;
  ++deviations_;
  if (next_ == count || iteration_[next_].stream != stream) return std::nullopt;
  // Larger than its slot: it is the one that the plan expects, and there is no room for it.
  const std::uint64_t slot = iteration_[next_].bytes;
  const bool is_alike = bytes >= slot / most_shrinking && bytes / most_shrinking <= slot;
  if (!is_alike) return std::nullopt;
  return next_;
}

std::optional<std::uint32_t> PlanFollower::take(std::uint64_t bytes, StreamId stream) {
  const auto slot = match(bytes, stream);
  if (!slot) return std::nullopt;
  expire_to(*slot);
  next_ = *slot + 1;
  const bool has_room = offset(*slot) != Layout::nowhere && bytes <= iteration_[*slot].bytes;
  if (!has_room || states_[*slot] != State::free || !is_clear(*slot)) return std::nullopt;
  states_[*slot] = State::live;
  sizes_[*slot] = bytes;
  ++live_;
  return slot;
}

bool PlanFollower::is_clear(std::uint32_t slot) const {
  if (late_.empty()) return true;
  if (late_.size() > max_late) return false;
  return std::none_of(late_.begin(), late_.end(), [&](std::uint32_t late) {
    return offset(late) < end(slot) && offset(slot) < end(late);
  });
}

void PlanFollower::give_back(std::uint32_t slot) {
  --live_;
  if (states_[slot] == State::late) {
    *std::find(late_.begin(), late_.end(), slot) = late_.back();
    late_.pop_back();
  }
  states_[slot] = State::free;
}

std::vector<std::uint32_t> PlanFollower::live_slots() const {
  std::vector<std::uint32_t> slots;
  for (std::uint32_t i = 0; i < states_.size(); ++i)
    if (states_[i] != State::free) slots.push_back(i);
  std::sort(slots.begin(), slots.end(), [&](auto a, auto b) { return offset(a) < offset(b); });
  return slots;
}

}  // namespace headroom::allocator
