// SPDX-License-Identifier: Apache-2.0
#include "allocator/device_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace headroom::allocator {
namespace {

// 8 PiB less a page: what a PageHandle can number.
constexpr std::uint64_t max_pages = std::numeric_limits<PageHandle>::max();

constexpr std::uint64_t budget_stretch = 32 * page_bytes;

constexpr std::uint64_t always = 1;

}  // namespace

DevicePool::DevicePool(Backend& backend, std::uint64_t capacity_bytes, Budget* budget,
                       FlightShard* recorder)
    : backend_(&backend),
      alive_(backend.alive() != nullptr ? backend.alive() : &always),
      capacity_pages_(std::min(capacity_bytes / page_bytes, max_pages)),
      budget_(budget),
      recorder_(recorder),
      held_limit_(capacity_pages_) {}

DevicePool::~DevicePool() {
  if (!is_ours()) return;
  // There is nobody left to tell about a page that cannot be destroyed; the backend's own end
  // returns what it still holds.
  for (const PageHandle page : unmapped_) static_cast<void>(backend_->destroy_page(page));
  if (budget_ == nullptr) return;
  static_cast<void>(budget_->give_back(created_ * page_bytes + plain_bytes_ + unused_budget_));
}

// A shared ledger is a file: pages ask it for a stretch at a time, as long as it grants one.
Status DevicePool::take_budget(std::uint64_t bytes) {
  if (budget_ == nullptr) return Done{};
  if (unused_budget_ < bytes) {
    const std::uint64_t stretch = std::max(bytes, budget_stretch);
    if (budget_->take(stretch))
      unused_budget_ += stretch;
    else if (Status taken = budget_->take(bytes); taken)
      unused_budget_ += bytes;
    else
      return taken;
  }
  unused_budget_ -= bytes;
  return Done{};
}

void DevicePool::give_budget_back(std::uint64_t bytes) {
  if (budget_ == nullptr) return;
  if (!budget_->give_back(bytes)) unused_budget_ += bytes;
}

template <class T>
Result<T> DevicePool::noted(Result<T> result, std::uint32_t cost) {
  ++device_calls_;
  device_ns_ += cost;
  if (!result) last_error_ = result.error();
  return result;
}

// For what the end of an allocator calls, which a child runs as well.
Status DevicePool::check_process() const {
  if (is_ours()) return Done{};
  return Error{Errc::unsupported, "this memory is that of the process before the fork", ""};
}

void DevicePool::set_capacity(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  capacity_pages_ = std::min(bytes / page_bytes, max_pages);
  while (created_ + plain_pages() > capacity_pages_ && destroy_unmapped_page()) {
  }
  held_limit_ = std::max<std::uint64_t>(capacity_pages_, created_ + plain_pages());
}

std::uint64_t DevicePool::shrink() {
  const std::scoped_lock lock(mutex_);
  std::uint64_t given = 0;
  while (destroy_unmapped_page()) given += page_bytes;
  if (unused_budget_ > 0) give_budget_back(std::exchange(unused_budget_, 0));
  return given;
}

// False where there is none, and where the device would keep the memory all the same.
bool DevicePool::destroy_unmapped_page() {
  if (unmapped_.empty() || !capabilities().destroy_returns_memory) return false;
  if (!noted(backend_->destroy_page(unmapped_.back()), capabilities().costs.destroy)) return false;
  unmapped_.pop_back();
  --created_;
  give_budget_back(page_bytes);
  return true;
}

// How many pages may be mapped, or taken as plain memory, on top of those that are.
std::uint64_t DevicePool::usable() const {
  const std::uint64_t in_use = created_ - unmapped_.size() + plain_pages();
  const std::uint64_t capacity = capacity_pages_;
  return capacity - std::min(capacity, in_use);
}

Result<std::uint64_t> DevicePool::reserve_range(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  return noted(backend_->reserve_range(bytes), capabilities().costs.reserve);
}

Status DevicePool::create_page() {
  if (Status granted = take_budget(page_bytes); !granted) {
    refused_ = true;
    last_error_ = granted.error();
    return granted;
  }
  auto created = noted(backend_->create_page(), capabilities().costs.create);
  if (!created) {
    give_budget_back(page_bytes);
    refused_ = true;
    return std::move(created).error();
  }
  ++created_;
  note_reserved();
  unmapped_.push_back(*created);
  return Done{};
}

void DevicePool::note_reserved() {
  reserved_peak_ = std::max(reserved_peak_, created_ * page_bytes + plain_bytes_);
}

Result<PageHandle> DevicePool::map(std::uint64_t address) {
  const std::scoped_lock lock(mutex_);
  if (usable() == 0) return Error{Errc::out_of_memory, "all pages of the capacity are mapped", ""};
  if (unmapped_.empty()) HEADROOM_CHECK(create_page());
  const PageHandle page = unmapped_.back();
  HEADROOM_CHECK(noted(backend_->map(address, page), capabilities().costs.map));
  unmapped_.pop_back();
  return page;
}

Status DevicePool::allow_access(std::uint64_t address, std::uint64_t bytes, StreamId stream) {
  const std::scoped_lock lock(mutex_);
  HEADROOM_CHECK(noted(backend_->allow_access(address, bytes), capabilities().costs.allow_access));
  note_locked(FlightKind::map, address, bytes, stream);
  return Done{};
}

void DevicePool::note_locked(FlightKind kind, std::uint64_t address, std::uint64_t bytes,
                             StreamId stream) {
  if (recorder_ == nullptr) return;
  recorder_->note(
      {.kind = kind, .stream = stream, .address = address, .bytes = bytes, .requested = bytes});
}

void DevicePool::note(FlightKind kind, std::uint64_t address, std::uint64_t bytes,
                      StreamId stream) {
  const std::scoped_lock lock(mutex_);
  note_locked(kind, address, bytes, stream);
}

void DevicePool::stop_recording() {
  if (!is_ours()) return;
  const std::scoped_lock lock(mutex_);
  recorder_ = nullptr;
}

Status DevicePool::unmap(std::uint64_t address, PageHandle page) {
  HEADROOM_CHECK(check_process());
  const std::scoped_lock lock(mutex_);
  HEADROOM_CHECK(noted(backend_->unmap(address), capabilities().costs.unmap));
  unmapped_.push_back(page);
  if (created_ + plain_pages() > capacity_pages_) static_cast<void>(destroy_unmapped_page());
  return Done{};
}

void DevicePool::lose(std::uint64_t pages) {
  const std::scoped_lock lock(mutex_);
  lost_ += pages;
}

std::uint64_t DevicePool::spare() const {
  const std::scoped_lock lock(mutex_);
  return refused_ ? std::min<std::uint64_t>(unmapped_.size(), usable()) : usable();
}

void DevicePool::retry_creation() {
  const std::scoped_lock lock(mutex_);
  refused_ = false;
}

Result<std::uint64_t> DevicePool::allocate(std::uint64_t bytes, StreamId stream) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t capacity = capacity_pages_;
  if (bytes / page_bytes > capacity - std::min(capacity, created_ + plain_pages()))
    return Error{Errc::out_of_memory, "the capacity is taken", ""};
  if (Status granted = take_budget(bytes); !granted) {
    last_error_ = granted.error();
    return std::move(granted).error();
  }
  auto address = noted(backend_->allocate(bytes), capabilities().costs.allocate);
  if (!address) {
    give_budget_back(bytes);
    return address;
  }
  plain_bytes_ += bytes;
  note_reserved();
  note_locked(FlightKind::segment_allocate, *address, bytes, stream);
  return address;
}

Status DevicePool::release(std::uint64_t address, std::uint64_t bytes, StreamId stream) {
  HEADROOM_CHECK(check_process());
  const std::scoped_lock lock(mutex_);
  HEADROOM_CHECK(noted(backend_->release(address), capabilities().costs.release));
  note_locked(FlightKind::segment_free, address, bytes, stream);
  plain_bytes_ -= bytes;
  give_budget_back(bytes);
  return Done{};
}

void DevicePool::set_captured(std::vector<StreamId> streams) {
  const std::scoped_lock lock(mutex_);
  captured_ = std::move(streams);
}

Status DevicePool::check_not_captured(StreamId stream) const {
  if (std::find(captured_.begin(), captured_.end(), stream) == captured_.end()) return Done{};
  return Error{Errc::unsupported, fmt::format("stream {} is being captured", stream), ""};
}

void DevicePool::bind_stream(StreamId stream, std::uintptr_t native) {
  const std::scoped_lock lock(mutex_);
  backend_->bind_stream(stream, native);
}

Status DevicePool::wait_for(StreamId stream) {
  const std::scoped_lock lock(mutex_);
  HEADROOM_CHECK(check_not_captured(stream));
  return noted(backend_->wait_for(stream), capabilities().costs.wait);
}

Result<EventId> DevicePool::record(StreamId stream) {
  const std::scoped_lock lock(mutex_);
  HEADROOM_CHECK(check_not_captured(stream));
  return backend_->record(stream);
}

bool DevicePool::waited(StreamId stream) {
  return noted(backend_->wait_for(stream), capabilities().costs.wait).has_value();
}

// What cannot be asked about is over when all of its stream's work is.
bool DevicePool::passed_or_waited(EventId event, StreamId stream) {
  if (event == no_event) return false;  // Only who may block waits for it.
  const auto passed = backend_->passed(event);
  return passed ? *passed : waited(stream);
}

bool DevicePool::passed(EventId event, StreamId stream, bool block) {
  const std::scoped_lock lock(mutex_);
  if (!check_not_captured(stream)) return false;
  const bool is_over = block && waited(stream);
  if (is_over && event == no_event) return true;
  // It is asked in any case: the answer ends the event.
  return passed_or_waited(event, stream) || is_over;
}

// An event that had not passed when it was asked about is asked again before another is recorded: a
// stream that never rests would collect them.
bool DevicePool::is_idle(StreamId stream) {
  const std::scoped_lock lock(mutex_);
  if (!check_not_captured(stream)) return false;
  const auto asked = unanswered_.find(stream);
  if (asked != unanswered_.end()) {
    if (!passed_or_waited(asked->second, stream)) return false;
    unanswered_.erase(asked);
  }
  const auto event = backend_->record(stream);
  if (!event) return false;
  if (passed_or_waited(*event, stream)) return true;
  unanswered_.emplace(stream, *event);
  return false;
}

DevicePool::Totals DevicePool::totals() const {
  const std::scoped_lock lock(mutex_);
  return {created_ * page_bytes + plain_bytes_,
          reserved_peak_,
          unmapped_.size(),
          held_limit_ * page_bytes,
          lost_,
          device_calls_,
          device_ns_};
}

void DevicePool::reset_peak() {
  const std::scoped_lock lock(mutex_);
  reserved_peak_ = created_ * page_bytes + plain_bytes_;
}

Result<DeviceMemory> DevicePool::device_memory() const {
  const std::scoped_lock lock(mutex_);
  return backend_->device_memory();
}

std::optional<Error> DevicePool::last_error() const {
  const std::scoped_lock lock(mutex_);
  return last_error_;
}

}  // namespace headroom::allocator
