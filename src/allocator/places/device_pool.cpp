// SPDX-License-Identifier: Apache-2.0
#include "allocator/places/device_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "base/require.h"

namespace headroom::allocator {
namespace {

// As many pages as a PageHandle can number: 8 PiB less a page.
constexpr std::uint64_t max_pages = std::numeric_limits<PageHandle>::max();

constexpr std::uint64_t budget_stretch = 32 * page_bytes;

constexpr std::uint64_t always = 1;

// Memory was granted since, so an earlier lack of memory no longer explains a refusal.
void forget_shortage(std::optional<Error>& refusal) {
  if (refusal && refusal->code == Errc::out_of_memory) refusal.reset();
}

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
  for (const auto& handles : unmapped_) {
    for (const PageHandle each : handles) static_cast<void>(backend_->destroy_pages(each));
  }
  if (budget_ == nullptr) return;
  static_cast<void>(budget_->give_back(created_ * page_bytes + plain_bytes_ + unused_budget_));
}

// A shared ledger is a file, so it is asked for a stretch at a time, as long as it grants one.
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

// Guards the calls that the end of an allocator makes, since a forked child runs them as well.
Status DevicePool::check_process() const {
  if (is_ours()) return Done{};
  return Error{Errc::unsupported, "this memory is that of the process before the fork", ""};
}

void DevicePool::set_capacity(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  capacity_pages_ = std::min(bytes / page_bytes, max_pages);
  give_excess_back();
  held_limit_ = std::max<std::uint64_t>(capacity_pages_, created_ + plain_pages());
}

std::uint64_t DevicePool::shrink() {
  const MutexLock lock(mutex_);
  std::uint64_t given = 0;
  while (const std::uint64_t pages = destroy_unmapped(0)) given += pages * page_bytes;
  if (unused_budget_ > 0) give_budget_back(std::exchange(unused_budget_, 0));
  return given;
}

void DevicePool::give_excess_back() {
  while (created_ + plain_pages() > capacity_pages_ && destroy_unmapped(0) > 0) {
  }
}

// Destroys the smallest unmapped handle of at least 2^`size` pages and returns how many pages it
// had; 0 if there is none, or if the device would not get the memory back.
std::uint64_t DevicePool::destroy_unmapped(std::size_t size) {
  if (!capabilities().destroy_returns_memory) return 0;
  while (size < handle_sizes && unmapped_[size].empty()) ++size;
  if (size == handle_sizes) return 0;
  std::vector<PageHandle>& handles = unmapped_[size];
  if (!noted(backend_->destroy_pages(handles.back()), capabilities().costs.destroy)) return 0;
  handles.pop_back();
  const std::uint64_t pages = std::uint64_t{1} << size;
  created_ -= pages;
  unmapped_pages_ -= pages;
  give_budget_back(pages * page_bytes);
  return pages;
}

// Destroys at least one unmapped handle of at least 2^`size` pages, and more (if the capacity was
// lowered) until the device may be asked for a page. False if there is still no room.
bool DevicePool::make_room(std::size_t size) {
  while (destroy_unmapped(size) > 0) {
    if (room() > 0) return true;
  }
  return false;
}

// How many pages the device may be asked for.
std::uint64_t DevicePool::room() const {
  const std::uint64_t capacity = capacity_pages_;
  return capacity - std::min(capacity, created_ + plain_pages());
}

// How many more pages may be mapped, or taken as plain memory.
std::uint64_t DevicePool::usable() const {
  const std::uint64_t in_use = created_ - unmapped_pages_ + plain_pages();
  const std::uint64_t capacity = capacity_pages_;
  return capacity - std::min(capacity, in_use);
}

Result<std::uint64_t> DevicePool::reserve_range(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  return noted(backend_->reserve_range(bytes), capabilities().costs.reserve);
}

Status DevicePool::try_to_create(std::size_t size) {
  const std::uint32_t count = std::uint32_t{1} << size;
  if (Status granted = take_budget(count * page_bytes); !granted) {
    last_error_ = granted.error();
    return granted;
  }
  auto created = noted(backend_->create_pages(count), capabilities().costs.create);
  if (!created) {
    give_budget_back(count * page_bytes);
    return std::move(created).error();
  }
  forget_shortage(last_error_);
  created_ += count;
  unmapped_pages_ += count;
  note_reserved();
  unmapped_[size].push_back(*created);
  return Done{};
}

// As many as are wanted and as few calls as can be, where the device has them in one piece.
Status DevicePool::create(std::uint64_t wanted, std::uint64_t per_handle) {
  require(wanted > 0 && room() > 0, "pages are wanted, and the capacity has room for one");
  std::size_t size = std::bit_width(std::min({wanted, room(), per_handle})) - 1;
  for (;; --size) {
    Status created = try_to_create(size);
    if (created || size == 0) {
      refused_ = !created;
      return created;
    }
  }
}

// Returns the size of the unmapped handle to map for `wanted` pages, the largest that is not too
// large. If there is none, creates one of new memory, or else in place of a handle that is too
// large.
Result<std::size_t> DevicePool::unmapped_for(std::uint64_t wanted, std::uint64_t per_handle) {
  const std::size_t most = std::min<std::size_t>(std::bit_width(wanted), handle_sizes);
  const auto largest = [this, most]() HEADROOM_REQUIRES(mutex_) {
    std::size_t size = most;
    while (size > 0 && unmapped_[size - 1].empty()) --size;
    return size;  // One more than the index; 0 if there is none.
  };
  if (const std::size_t size = largest(); size > 0) return size - 1;
  Status created = Error{Errc::out_of_memory, "the capacity is taken", ""};
  if (room() > 0 && !refused_) created = create(wanted, per_handle);
  if (!created && make_room(most)) created = create(wanted, per_handle);
  HEADROOM_CHECK(created);
  return largest() - 1;
}

void DevicePool::note_reserved() {
  reserved_peak_ = std::max(reserved_peak_, created_ * page_bytes + plain_bytes_);
}

Result<DevicePool::Pages> DevicePool::map(std::uint64_t address, std::uint64_t wanted,
                                          std::uint64_t per_handle) {
  const MutexLock lock(mutex_);
  wanted = std::min(wanted, usable());
  if (wanted == 0) return Error{Errc::out_of_memory, "all pages of the capacity are mapped", ""};
  HEADROOM_TRY(const std::size_t size, unmapped_for(wanted, per_handle));
  const Pages pages{unmapped_[size].back(), std::uint32_t{1} << size};
  HEADROOM_CHECK(noted(backend_->map(address, pages.handle), capabilities().costs.map));
  unmapped_[size].pop_back();
  unmapped_pages_ -= pages.count;
  return pages;
}

Status DevicePool::allow_access(std::uint64_t address, std::uint64_t bytes, StreamId stream) {
  const MutexLock lock(mutex_);
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
  const MutexLock lock(mutex_);
  note_locked(kind, address, bytes, stream);
}

void DevicePool::stop_recording() {
  if (!is_ours()) return;
  const MutexLock lock(mutex_);
  recorder_ = nullptr;
}

Status DevicePool::unmap(std::uint64_t address, Pages pages) {
  HEADROOM_CHECK(check_process());
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(noted(backend_->unmap(address), capabilities().costs.unmap));
  unmapped_[std::bit_width(pages.count) - 1].push_back(pages.handle);
  unmapped_pages_ += pages.count;
  give_excess_back();
  return Done{};
}

void DevicePool::lose(std::uint64_t pages) {
  const MutexLock lock(mutex_);
  lost_ += pages;
}

std::uint64_t DevicePool::spare() const {
  const MutexLock lock(mutex_);
  return refused_ ? std::min(unmapped_pages_, usable()) : usable();
}

void DevicePool::retry_creation() {
  const MutexLock lock(mutex_);
  refused_ = false;
}

Result<std::uint64_t> DevicePool::allocate(std::uint64_t bytes, StreamId stream) {
  const MutexLock lock(mutex_);
  if (bytes / page_bytes > room()) return Error{Errc::out_of_memory, "the capacity is taken", ""};
  if (Status granted = take_budget(bytes); !granted) {
    last_error_ = granted.error();
    return std::move(granted).error();
  }
  auto address = noted(backend_->allocate(bytes), capabilities().costs.allocate);
  if (!address) {
    give_budget_back(bytes);
    return address;
  }
  forget_shortage(last_error_);
  plain_bytes_ += bytes;
  note_reserved();
  note_locked(FlightKind::segment_allocate, *address, bytes, stream);
  return address;
}

Status DevicePool::release(std::uint64_t address, std::uint64_t bytes, StreamId stream) {
  HEADROOM_CHECK(check_process());
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(noted(backend_->release(address), capabilities().costs.release));
  note_locked(FlightKind::segment_free, address, bytes, stream);
  plain_bytes_ -= bytes;
  give_budget_back(bytes);
  return Done{};
}

void DevicePool::set_captured(std::vector<StreamId> streams) {
  const MutexLock lock(mutex_);
  captured_ = std::move(streams);
}

Status DevicePool::check_not_captured(StreamId stream) const {
  if (std::find(captured_.begin(), captured_.end(), stream) == captured_.end()) return Done{};
  return Error{Errc::unsupported, fmt::format("stream {} is being captured", stream), ""};
}

void DevicePool::bind_stream(StreamId stream, std::uintptr_t native) {
  const MutexLock lock(mutex_);
  backend_->bind_stream(stream, native);
}

Status DevicePool::wait_for(StreamId stream) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check_not_captured(stream));
  return noted(backend_->wait_for(stream), capabilities().costs.wait);
}

Result<EventId> DevicePool::record(StreamId stream) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check_not_captured(stream));
  return backend_->record(stream);
}

bool DevicePool::waited(StreamId stream) {
  return noted(backend_->wait_for(stream), capabilities().costs.wait).has_value();
}

// If the backend cannot answer for the event, waits for all of the stream's work.
bool DevicePool::passed_or_waited(EventId event, StreamId stream) {
  if (event == no_event) return false;  // Only a caller that may block waits for it.
  const auto passed = backend_->passed(event);
  return passed ? *passed : waited(stream);
}

bool DevicePool::passed(EventId event, StreamId stream, bool block) {
  const MutexLock lock(mutex_);
  if (!check_not_captured(stream)) return false;
  const bool is_over = block && waited(stream);
  if (is_over && event == no_event) return true;
  // The backend is asked in any case, because its answer ends the event.
  return passed_or_waited(event, stream) || is_over;
}

// An event that has not passed yet is asked about again before another one is recorded; otherwise a
// stream that is always busy would collect events without end.
bool DevicePool::is_idle(StreamId stream) {
  const MutexLock lock(mutex_);
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
  const MutexLock lock(mutex_);
  return {created_ * page_bytes + plain_bytes_,
          reserved_peak_,
          unmapped_pages_,
          held_limit_ * page_bytes,
          lost_,
          device_calls_,
          device_ns_};
}

void DevicePool::reset_peak() {
  const MutexLock lock(mutex_);
  reserved_peak_ = created_ * page_bytes + plain_bytes_;
}

Result<DeviceMemory> DevicePool::device_memory() const {
  const MutexLock lock(mutex_);
  return backend_->device_memory();
}

std::optional<Error> DevicePool::last_error() const {
  const MutexLock lock(mutex_);
  return last_error_;
}

}  // namespace headroom::allocator
