// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/plan_follower.h"

#include <algorithm>
#include <utility>

#include "base/require.h"

namespace headroom::allocator {
namespace {

// How far ahead in the plan a request is looked for that is not the next one.
constexpr std::uint32_t look_ahead = 16;

// With more late blocks than this, checking a slot against them costs more than it saves.
constexpr std::size_t max_late = 64;

}  // namespace

void PlanFollower::begin() {
  if (plan_) expire_to(plan_->size());
  expired_to_ = 0;
  next_ = 0;
  deviations_ = 0;
  is_smaller_ = false;
}

bool PlanFollower::can_change() const {
  return live_ <= max_late;
}

void PlanFollower::follow(PlanPointer plan, std::uint32_t next) {
  if (plan == plan_ && next == next_) return;
  require(can_change(), "few enough blocks live in the piece for another plan to be followed");
  for (Place place = 0; place < tenants_.size(); ++place) {
    if (tenants_[place].end == 0) continue;
    become_late(place);
    tenants_[place].slot = none;
  }
  plan_ = std::move(plan);
  in_slot_.assign(plan_->size(), none);
  expired_to_ = next;
  next_ = next;
}

void PlanFollower::become_late(Place place) {
  if (std::exchange(tenants_[place].is_late, true)) return;
  late_.push_back(place);
}

// Marks blocks as late that should have been freed before this allocation.
void PlanFollower::expire_to(std::uint32_t allocation) {
  for (const std::uint32_t slot : plan_->expiring(expired_to_ + 1, allocation + 1))
    if (in_slot_[slot] != none) become_late(in_slot_[slot]);
  expired_to_ = allocation;
}

std::optional<std::uint32_t> PlanFollower::match(std::uint64_t bytes, StreamId stream) {
  // In a smaller iteration a block may happen to have the planned size of another one, so the next
  // slot comes first.
  if (is_smaller_ && expects(bytes, stream)) return next_;
  const std::uint32_t end = std::min(plan_->size(), next_ + look_ahead);
  for (std::uint32_t i = next_; i < end; ++i)
    if (plan_->block(i).bytes == bytes && plan_->block(i).stream == stream) return i;
  if (!expects(bytes, stream)) ++deviations_;
  if (next_ == plan_->size() || plan_->block(next_).stream != stream) return std::nullopt;
  // A request of roughly the slot's size is the one that the plan expects, even if the slot has no
  // room for it.
  const std::uint64_t slot = plan_->block(next_).bytes;
  const bool is_alike = bytes >= slot / most_shrinking && bytes / most_shrinking <= slot;
  if (!is_alike) return std::nullopt;
  is_smaller_ = is_smaller_ || bytes < slot;
  return next_;
}

std::optional<PlanFollower::Place> PlanFollower::take(std::uint64_t bytes, StreamId stream) {
  if (!plan_) return std::nullopt;
  const auto slot = match(bytes, stream);
  if (!slot) return std::nullopt;
  expire_to(*slot);
  next_ = *slot + 1;
  const std::uint64_t begin = plan_->offset(*slot);
  const bool has_room = begin != Layout::nowhere && plan_->expects(*slot, bytes, stream);
  if (!has_room || in_slot_[*slot] != none || !is_clear(begin, begin + bytes)) return std::nullopt;
  in_slot_[*slot] = occupy({begin, begin + bytes, *slot, false});
  return in_slot_[*slot];
}

PlanFollower::Place PlanFollower::occupy(const Tenant& tenant) {
  ++live_;
  if (unused_.empty()) {
    tenants_.push_back(tenant);
    return static_cast<Place>(tenants_.size() - 1);
  }
  const Place place = unused_.back();
  unused_.pop_back();
  tenants_[place] = tenant;
  return place;
}

bool PlanFollower::is_clear(std::uint64_t begin, std::uint64_t end) const {
  if (late_.empty()) return true;
  if (late_.size() > max_late) return false;
  return std::none_of(late_.begin(), late_.end(), [&](Place late) {
    return tenants_[late].begin < end && begin < tenants_[late].end;
  });
}

void PlanFollower::give_back(Place place) {
  --live_;
  Tenant& tenant = tenants_[place];
  if (tenant.is_late) {
    *std::find(late_.begin(), late_.end(), place) = late_.back();
    late_.pop_back();
  }
  if (tenant.slot != none) in_slot_[tenant.slot] = none;
  tenant = {};
  unused_.push_back(place);
}

std::vector<PlanFollower::Place> PlanFollower::live_places() const {
  std::vector<Place> places;
  for (Place place = 0; place < tenants_.size(); ++place)
    if (tenants_[place].end != 0) places.push_back(place);
  std::sort(places.begin(), places.end(), [&](auto a, auto b) { return offset(a) < offset(b); });
  return places;
}

}  // namespace headroom::allocator
