// SPDX-License-Identifier: Apache-2.0
#include "allocator/headroom/shard.h"

#include <algorithm>
#include <utility>

namespace headroom::allocator {
namespace {

constexpr std::size_t remembered_iterations = 16;

}  // namespace

Shard::Shard(std::unique_ptr<Core> core, DevicePool& pool, Options options)
    : core_(std::move(core)),
      pool_(&pool),
      options_(std::move(options)),
      planner_(*core_, options_.executor) {}

Shard::~Shard() = default;

void Shard::note(FlightKind kind, const Segment& segment) {
  if (options_.recorder == nullptr) return;
  options_.recorder->note({.kind = kind,
                           .tag = segment.tag,
                           .stream = segment.stream,
                           .name = segment.name,
                           .address = segment.address,
                           .bytes = segment.bytes,
                           .requested = segment.bytes - segment.rounding});
}

Address Shard::take_slot(const Request& request, std::uint64_t bytes) {
  const std::uint64_t iterations = planner_.counts().iterations;
  const auto slot = planner_.take(bytes, request.stream);
  if (planner_.counts().iterations != iterations) note_iteration();
  if (!slot) return no_address;
  return keep(core_->add_planned(slot->address, bytes, slot->number), request, bytes);
}

void Shard::note_iteration() {
  pool_->use_large_handles();
  if (iterations_.size() == remembered_iterations) iterations_.erase(iterations_.begin());
  iterations_.push_back(births_);
  if (options_.recorder == nullptr) return;
  options_.recorder->note({.kind = FlightKind::iteration,
                           .address = planner_.counts().iterations,
                           .bytes = tracker_.usage().live_bytes});
}

void Shard::note_refusal(const Request& request, std::uint64_t bytes) {
  if (options_.recorder == nullptr) return;
  std::uint64_t free = pool_->spare() * page_bytes;
  for (const Tiling* tiling : core_->tilings()) free += tiling->bytes_in(SegmentState::free);
  options_.recorder->note({.kind = FlightKind::refuse,
                           .tag = request.tag,
                           .stream = request.stream,
                           .name = request.name,
                           .address = free,
                           .bytes = bytes,
                           .requested = request.bytes});
}

void Shard::note_synchronization(StreamId stream) {
  if (options_.recorder == nullptr) return;
  options_.recorder->note({.kind = FlightKind::synchronize, .stream = stream});
}

void Shard::add_ages_to(HeapView& view) const {
  view.now = births_;
  view.iterations = iterations_;
}

Address Shard::ready(const Request& request, std::uint64_t bytes) {
  if (!waiting_.empty()) reap_waiting(false);
  if (options_.planning) {
    if (const Address planned = take_slot(request, bytes); planned != no_address) return planned;
  }
  const SegmentId id = core_->find_ready(bytes, request.stream);
  return id != no_segment ? keep(id, request, bytes) : no_address;
}

Address Shard::lend(const Request& request, std::uint64_t bytes) {
  publish_idle_streams();
  const SegmentId id = core_->find_ready(bytes, request.stream);
  return id != no_segment ? keep(id, request, bytes) : no_address;
}

Address Shard::hard(const Request& request, std::uint64_t bytes, Plan plan) {
  const SegmentId id = find(bytes, request.stream, plan);
  return id != no_segment ? keep(id, request, bytes) : no_address;
}

SegmentId Shard::find(std::uint64_t bytes, StreamId stream, Plan plan) {
  SegmentId id = core_->find_ready(bytes, stream);
  if (id != no_segment) return id;
  if (is_remembered_) return core_->find_new(bytes, stream);
  // A plan's memory can be given up without loss while nothing lives in it.
  if (planner_.is_unused() && pool_->spare() * page_bytes < bytes) {
    planner_.drop_unused();
    id = core_->find_ready(bytes, stream);
    if (id != no_segment) return id;
  }
  id = core_->find(bytes, stream);
  if (id == no_segment && !waiting_.empty()) {
    reap_waiting(true);
    id = core_->find_ready(bytes, stream);
    if (id == no_segment) id = core_->find(bytes, stream);
  }
  if (id == no_segment && plan == Plan::break_up && planner_.has_plan()) {
    break_plan_up();
    id = core_->find_ready(bytes, stream);
    if (id == no_segment) id = core_->find(bytes, stream);
  }
  return id;
}

// Turns the plan's blocks into blocks of the core at the same addresses. Those that wait for
// streams go on waiting.
void Shard::break_plan_up() {
  for (const Planner::Moved& moved : planner_.break_up()) {
    const SegmentId planned = take_planned(moved.slot, moved.segment);
    const Segment was = core_->segment(planned);
    Segment& now = core_->segment(moved.segment);
    now.stream = was.stream;
    now.tag = was.tag;
    now.name = was.name;
    now.birth = was.birth;
    now.rounding = was.rounding;
    now.is_shared = was.is_shared;
    core_->drop_planned(planned);
  }
}

// Finds the segment that was in the slot and makes everything that refers to it refer to `moved`.
SegmentId Shard::take_planned(std::uint32_t slot, SegmentId moved) {
  const Address address = core_->segment(moved).address;
  const SegmentId live = blocks_.take(address);
  if (live != no_segment) {
    blocks_.insert(address, moved);
    return live;
  }
  const auto is_in_slot = [&](const Waiting& each) HEADROOM_REQUIRES(mutex_) {
    const Segment& segment = core_->segment(each.segment);
    return segment.heap == planned_heap && segment.range == slot;
  };
  const auto waiting = std::find_if(waiting_.begin(), waiting_.end(), is_in_slot);
  return std::exchange(waiting->segment, moved);
}

Address Shard::keep(SegmentId id, const Request& request, std::uint64_t bytes) {
  Segment& segment = core_->segment(id);
  segment.stream = request.stream;
  segment.tag = request.tag;
  segment.name = request.name;
  segment.rounding = static_cast<std::uint16_t>(bytes - request.bytes);
  segment.is_shared = false;
  segment.birth = planner_.note_allocate(bytes, request.stream);
  births_ = segment.birth + 1;
  blocks_.insert(segment.address, id);
  tracker_.add_live(request.tag, bytes);
  note(FlightKind::allocate, segment);
  return segment.address;
}

bool Shard::free(Address address) {
  const SegmentId id = blocks_.take(address);
  if (id == no_segment) return false;
  const Segment& segment = core_->segment(id);
  tracker_.remove_live(segment.tag, segment.bytes);
  planner_.note_free(segment.birth, segment.bytes);
  note(FlightKind::free, segment);
  if (segment.is_shared)
    wait_for_sharers(id);
  else
    let_go(id);
  return true;
}

void Shard::let_go(SegmentId id) {
  const Segment& segment = core_->segment(id);
  if (segment.heap != planned_heap) {
    core_->release(id);
    return;
  }
  planner_.give_back(segment.range);
  core_->drop_planned(id);
}

bool Shard::retag(Address address, Component tag) {
  const SegmentId id = blocks_.find(address);
  if (id == no_segment) return false;
  Segment& segment = core_->segment(id);
  tracker_.move_live(segment.tag, tag, segment.bytes);
  segment.tag = tag;
  note(FlightKind::retag, segment);
  return true;
}

bool Shard::record_stream(Address address, StreamId stream) {
  const SegmentId id = blocks_.find(address);
  if (id == no_segment) return false;
  Segment& segment = core_->segment(id);
  if (stream == segment.stream) return true;
  segment.is_shared = true;
  const std::pair sharer(address, stream);
  if (std::find(sharers_.begin(), sharers_.end(), sharer) == sharers_.end())
    sharers_.push_back(sharer);
  return true;
}

// The segment is not live any more, but not free yet.
void Shard::wait_for_sharers(SegmentId id) {
  Waiting waiting{id, {}};
  const Address address = core_->segment(id).address;
  std::erase_if(sharers_, [&](const auto& sharer) {
    if (sharer.first != address) return false;
    const auto event = pool_->record(sharer.second);
    waiting.events.emplace_back(event ? *event : DevicePool::no_event, sharer.second);
    return true;
  });
  waiting_.push_back(std::move(waiting));
}

void Shard::reap_waiting(bool block) {
  unpassed_.clear();
  // A stream's events pass in order: after one that has not passed, no later one has.
  const auto passed = [&](const auto& event) HEADROOM_REQUIRES(mutex_) {
    const StreamId stream = event.second;
    if (std::find(unpassed_.begin(), unpassed_.end(), stream) != unpassed_.end()) return false;
    if (pool_->passed(event.first, stream, block)) return true;
    unpassed_.push_back(stream);
    return false;
  };
  std::erase_if(waiting_, [&](Waiting& each) HEADROOM_REQUIRES(mutex_) {
    std::erase_if(each.events, passed);
    if (each.events.empty()) let_go(each.segment);
    return each.events.empty();
  });
}

std::optional<std::uint64_t> Shard::block_bytes(Address address) const {
  const SegmentId id = blocks_.find(address);
  if (id == no_segment) return std::nullopt;
  return core_->segment(id).bytes;
}

void Shard::publish_idle_streams() {
  for (const Tiling* tiling : core_->tilings()) {
    for (const StreamId stream : tiling->private_streams())
      if (pool_->is_idle(stream)) core_->publish(stream);
  }
}

std::uint64_t Shard::give_up(std::uint64_t bytes, Plan plan) {
  if (is_remembered_) return 0;
  if (!waiting_.empty()) reap_waiting(true);
  std::uint64_t given = core_->give_up(bytes);
  if (given >= bytes || plan == Plan::keep || !planner_.has_plan()) return given;
  break_plan_up();
  return given + core_->give_up(bytes - given);
}

void Shard::inbox_put(Address address) {
  const MutexLock lock(inbox_mutex_);
  inbox_.push_back(address);
  inbox_has_mail_.store(true, std::memory_order_release);
}

std::uint64_t Shard::drain_inbox() {
  {
    const MutexLock lock(inbox_mutex_);
    mail_.swap(inbox_);
    inbox_has_mail_.store(false, std::memory_order_release);
  }
  std::uint64_t foreign = 0;
  for (const Address address : mail_) foreign += free(address) ? 0 : 1;
  mail_.clear();
  return foreign;
}

void Shard::add_to(HeapView& view, StreamId stream) const {
  for (const Tiling* tiling : core_->tilings()) tiling->add_to(view, stream);
  // Goes by segment number, which is the order in memory, because a report of a hundred thousand
  // blocks has to be quick.
  std::vector<bool> is_live;
  blocks_.for_each([&](Address /*address*/, SegmentId id) {
    if (id >= is_live.size()) is_live.resize(std::max<std::size_t>(id + 1, is_live.size() * 2));
    is_live[id] = true;
  });
  view.blocks.reserve(view.blocks.size() + blocks_.size());
  for (SegmentId id = 0; id < is_live.size(); ++id) {
    if (!is_live[id]) continue;
    const Segment& segment = core_->segment(id);
    view.blocks.push_back({.address = segment.address,
                           .bytes = segment.bytes,
                           .requested_bytes = segment.bytes - segment.rounding,
                           .birth = segment.birth,
                           .stream = segment.stream,
                           .tag = segment.tag,
                           .name = segment.name});
  }
}

std::uint64_t Shard::set_aside_bytes() const {
  const Core& core = *core_;
  std::uint64_t bytes = planner_.held_bytes();
  blocks_.for_each([&](Address /*address*/, SegmentId id) {
    if (core.segment(id).heap == planned_heap) bytes -= core.segment(id).bytes;
  });
  for (const Waiting& each : waiting_) {
    const Segment& segment = core.segment(each.segment);
    if (segment.heap != planned_heap) bytes += segment.bytes;
  }
  return bytes;
}

std::string Shard::broken_invariant() const {
  if (std::string broken = core_->broken_invariant(); !broken.empty()) return broken;
  std::uint64_t live = 0;
  for (const Component component : all_components) live += tracker_.usage().live[component];
  if (live != tracker_.usage().live_bytes) return "live bytes by component do not add up";
  std::uint64_t kept = 0;
  const Core& core = *core_;
  blocks_.for_each([&](Address /*address*/, SegmentId id) { kept += core.segment(id).bytes; });
  if (kept != live) return "the blocks and the live bytes differ";
  return "";
}

}  // namespace headroom::allocator
