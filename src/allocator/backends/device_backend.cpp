// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/device_backend.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/bytes.h"

namespace headroom::allocator {
namespace {

// A driver's refusal that is temporary (ROCm/rocm-systems#2667, #3145) ends within milliseconds.
constexpr int access_rounds = 4;
constexpr std::uint64_t first_pause_ns = 500'000;
// If a stretch is refused this often in a row, and each time granted from where its pages begin, it
// is a rule of this driver.
constexpr int refusals_that_are_a_rule = 8;

}  // namespace

DeviceBackend::DeviceBackend(std::unique_ptr<Driver> driver, const VirtualMemoryVerdict& verdict)
    : DeviceBackend(std::move(driver), verdict.use == VirtualMemoryVerdict::Use::yes
                                           ? verdict.trusted
                                           : Capabilities{}) {}

DeviceBackend::DeviceBackend(std::unique_ptr<Driver> driver, const Capabilities& capabilities)
    : driver_(std::move(driver)), capabilities_(capabilities), owner_(::getpid()) {
  streams_[0] = 0;
}

Result<std::unique_ptr<DeviceBackend>> DeviceBackend::on_trial(std::unique_ptr<Driver> driver) {
  HEADROOM_CHECK(driver->check_virtual_memory());
  return std::unique_ptr<DeviceBackend>(
      new DeviceBackend(std::move(driver), Capabilities{.virtual_memory = true,
                                                        .destroy_returns_memory = true,
                                                        .several_pages_per_handle = true}));
}

DeviceBackend::~DeviceBackend() {
  if (::getpid() != owner_) return;  // The driver's state belongs to the parent.
  // A failure cannot be helped at this point; the driver takes everything back when the process
  // ends.
  static_cast<void>(driver_->wait_for_device());
  for (const auto& [address, bytes] : plain_.sizes()) static_cast<void>(driver_->release(address));
  for (const PageTable::Range& range : table_.ranges()) {
    const std::uint64_t end = range.address + range.mapped.size() * page_bytes;
    std::uint64_t next = 0;
    for (std::uint64_t at = range.address; at < end; at = next) {
      next = at + page_bytes;
      if (!table_.check_mapped(at, page_bytes)) continue;
      next = table_.mapping_end(at);
      static_cast<void>(driver_->unmap(at, next - at));
    }
  }
  // Addresses are freed first, because some ROCm releases keep a page's memory if it is released
  // while its range is still reserved (ROCm/hip#3781).
  for (const Reservation& reservation : reservations_)
    static_cast<void>(driver_->free_range(reservation.address, reservation.bytes));
  for (const auto& [count, handles] : spare_handles_) {
    for (const std::uint64_t handle : handles) static_cast<void>(driver_->destroy_pages(handle));
  }
  for (const std::uint64_t handle : handles_) {
    if (handle != 0) static_cast<void>(driver_->destroy_pages(handle));
  }
  for (const auto& [id, event] : events_) static_cast<void>(driver_->destroy_event(event));
  for (const std::uintptr_t event : spare_events_) static_cast<void>(driver_->destroy_event(event));
}

Status DeviceBackend::check_owner() const {
  if (::getpid() == owner_) return Done{};
  return Error{
      Errc::unsupported,
      fmt::format("process {} was forked from process {}, whose GPU memory this is", ::getpid(),
                  owner_),
      "use the GPU only after the fork (Python: multiprocessing's start method \"spawn\")"};
}

Status DeviceBackend::check_virtual_memory() const {
  HEADROOM_CHECK(check_owner());
  if (capabilities_.virtual_memory) return Done{};
  return Error{Errc::unsupported,
               fmt::format("{}'s virtual memory has not passed a self-test here, so it is not used",
                           driver_->name()),
               ""};
}

Result<std::uint64_t> DeviceBackend::reserve_range(std::uint64_t bytes) {
  HEADROOM_CHECK(check_virtual_memory());
  HEADROOM_CHECK(PageTable::check_range(bytes));
  HEADROOM_TRY(std::uint64_t address, driver_->reserve(bytes, page_bytes));
  Reservation reservation{address, bytes};
  if (address % page_bytes != 0) {  // HIP accepts an alignment but does not keep it.
    // Addresses cost nothing, so those that cannot be freed now are freed at the end.
    if (!driver_->free_range(address, bytes)) reservations_.push_back(reservation);
    reservation.bytes = bytes + page_bytes;
    HEADROOM_TRY(reservation.address, driver_->reserve(reservation.bytes, page_bytes));
    address = round_up(reservation.address, page_bytes);
  }
  reservations_.push_back(reservation);
  table_.add_range(address, bytes);
  return address;
}

Result<PageHandle> DeviceBackend::create_pages(std::uint32_t count) {
  HEADROOM_CHECK(check_virtual_memory());
  HEADROOM_CHECK(PageTable::check_count(count));
  if (count > 1 && !capabilities_.several_pages_per_handle)
    return Error{Errc::unsupported,
                 fmt::format("expected 1 page, which is what this driver can do, found {}", count),
                 ""};
  std::uint64_t drivers = 0;
  std::vector<std::uint64_t>& spare = spare_handles_[count];
  if (spare.empty()) {
    HEADROOM_TRY(drivers, driver_->create_pages(count * page_bytes));
  } else {
    drivers = spare.back();
    spare.pop_back();
  }
  const PageHandle pages = table_.next_pages(count);
  table_.add_pages(count);
  if (pages >= handles_.size()) handles_.resize(pages + std::size_t{1});
  handles_[pages] = drivers;
  return pages;
}

Status DeviceBackend::destroy_pages(PageHandle pages) {
  HEADROOM_CHECK(check_virtual_memory());
  HEADROOM_TRY(const PageTable::Pages unmapped, table_.unmapped(pages));
  if (capabilities_.destroy_returns_memory) {
    HEADROOM_CHECK(driver_->destroy_pages(handles_[pages]));
  } else {
    spare_handles_[unmapped.count].push_back(handles_[pages]);
  }
  handles_[pages] = 0;
  HEADROOM_CHECK(table_.remove_pages(pages));
  return Done{};
}

Status DeviceBackend::map(std::uint64_t address, PageHandle pages) {
  HEADROOM_CHECK(check_virtual_memory());
  HEADROOM_TRY(const PageTable::Pages handle, table_.map(address, pages));
  auto mapped = driver_->map(address, handle.bytes(), handles_[pages]);
  if (!mapped) HEADROOM_CHECK(table_.unmap(address));
  return mapped;
}

Status DeviceBackend::try_access(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t start = table_.mapped_from(address);
  const std::uint64_t end = address + bytes;
  Status refused = Done{};
  if (!capabilities_.access_from_start_only) {
    refused = driver_->set_access(address, bytes);
    if (refused && start != address) tail_refusals_ = 0;
    if (refused) return refused;
  }
  if (start != address || capabilities_.access_from_start_only) {
    auto allowed = driver_->set_access(start, end - start);
    if (allowed && ++tail_refusals_ >= refusals_that_are_a_rule)
      capabilities_.access_from_start_only = true;
    if (allowed) return allowed;
    refused = std::move(allowed);
  }
  // Some sizes are always refused (ROCm/rocm-systems#2516), so each mapping is tried by itself.
  std::uint64_t next = 0;
  for (std::uint64_t at = address; at < end; at = next) {
    next = table_.mapping_end(at);
    HEADROOM_CHECK(driver_->set_access(at, next - at));
  }
  return Done{};
}

Status DeviceBackend::allow_access(std::uint64_t address, std::uint64_t bytes) {
  HEADROOM_CHECK(check_virtual_memory());
  HEADROOM_CHECK(table_.check_mapped(address, bytes));
  Status allowed = try_access(address, bytes);
  std::uint64_t pause = first_pause_ns;
  for (int round = 1; !allowed && round < access_rounds; ++round, pause *= 4) {
    driver_->pause(pause);
    allowed = try_access(address, bytes);
  }
  if (!allowed)
    return std::move(allowed).error().in(
        fmt::format("{} pages are mapped that the GPU may not use", bytes / page_bytes));
  driver_->pause(capabilities_.settle_ns);
  return Done{};
}

Status DeviceBackend::unmap(std::uint64_t address) {
  HEADROOM_CHECK(check_virtual_memory());
  HEADROOM_TRY(const PageTable::Pages pages, table_.unmap(address));
  auto unmapped = driver_->unmap(address, pages.bytes());
  if (!unmapped) HEADROOM_CHECK(table_.map(address, pages.handle));
  return unmapped;
}

Result<std::uint64_t> DeviceBackend::allocate(std::uint64_t bytes) {
  HEADROOM_CHECK(check_owner());
  HEADROOM_CHECK(PlainTable::check_size(bytes));
  HEADROOM_TRY(const std::uint64_t address, driver_->allocate(bytes));
  plain_.add(address, bytes);
  return address;
}

Status DeviceBackend::release(std::uint64_t address) {
  HEADROOM_CHECK(check_owner());
  HEADROOM_CHECK(plain_.size_of(address));
  HEADROOM_CHECK(driver_->release(address));
  HEADROOM_CHECK(plain_.remove(address));
  return Done{};
}

Result<DeviceMemory> DeviceBackend::device_memory() {
  HEADROOM_CHECK(check_owner());
  HEADROOM_TRY(const MemoryInfo info, driver_->memory_info());
  // HIP reports impossible figures on some APUs (ROCm/hip#3892).
  if (info.total_bytes == 0 || info.free_bytes > info.total_bytes)
    return Error{
        Errc::invalid,
        fmt::format("expected at most all of the device's memory to be free, found {} of {} "
                    "({})",
                    to_string(Bytes{info.free_bytes}), to_string(Bytes{info.total_bytes}),
                    info.source),
        "headroom check tells what the kernel counts"};
  std::uint64_t kept = 0;
  for (const auto& [count, handles] : spare_handles_) kept += handles.size() * count * page_bytes;
  return DeviceMemory{info.total_bytes, std::min(info.free_bytes + kept, info.total_bytes),
                      std::string(info.source)};
}

void DeviceBackend::bind_stream(StreamId stream, std::uintptr_t native) {
  streams_[stream] = native;
}

Status DeviceBackend::wait_for(StreamId stream) {
  HEADROOM_CHECK(check_owner());
  const auto native = streams_.find(stream);
  return native == streams_.end() ? driver_->wait_for_device()
                                  : driver_->wait_for_stream(native->second);
}

Result<std::uintptr_t> DeviceBackend::spare_event() {
  if (spare_events_.empty()) return driver_->create_event();
  const std::uintptr_t event = spare_events_.back();
  spare_events_.pop_back();
  return event;
}

Result<EventId> DeviceBackend::record(StreamId stream) {
  HEADROOM_CHECK(check_owner());
  const auto native = streams_.find(stream);
  if (native == streams_.end())
    return Error{Errc::invalid, fmt::format("stream {} was not bound to one of the GPU's", stream),
                 "bind the stream, or wait for it"};
  HEADROOM_TRY(const std::uintptr_t event, spare_event());
  if (auto recorded = driver_->record_event(event, native->second); !recorded) {
    spare_events_.push_back(event);
    return std::move(recorded).error();
  }
  events_[++last_event_] = event;
  return last_event_;
}

Result<bool> DeviceBackend::passed(EventId event) {
  HEADROOM_CHECK(check_owner());
  const auto found = events_.find(event);
  if (found == events_.end())
    return Error{Errc::invalid, fmt::format("event {} is gone or never was", event), ""};
  HEADROOM_TRY(const bool done, driver_->event_passed(found->second));
  if (done) {
    spare_events_.push_back(found->second);
    events_.erase(found);
  }
  return done;
}

}  // namespace headroom::allocator
