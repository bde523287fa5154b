// SPDX-License-Identifier: Apache-2.0
#include "allocator/simulated_backend.h"

#include <fmt/format.h>

#include "allocator/assumed_costs.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t address_limit = std::uint64_t{1} << 62U;

}  // namespace

Capabilities SimulatedBackend::assumed_capabilities() {
  return {.virtual_memory = true,
          .destroy_returns_memory = true,
          .several_pages_per_handle = true,
          .costs = assumed_costs};
}

Capabilities SimulatedBackend::without_virtual_memory() {
  return {.virtual_memory = false, .costs = assumed_costs};
}

Status SimulatedBackend::check_virtual_memory() const {
  if (capabilities_.virtual_memory) return Done{};
  return Error{Errc::unsupported, "this simulated device has no virtual-memory calls", ""};
}

Status SimulatedBackend::check_free_pages(std::uint64_t pages) const {
  const std::uint64_t taken = table_.pages() + plain_.bytes() / page_bytes;
  if (pages <= page_limit_ - taken) return Done{};
  return Error{Errc::out_of_memory,
               fmt::format("the simulated device has {} pages of 2 MiB, {} of them taken; expected "
                           "{} free ones",
                           page_limit_, taken, pages),
               "replay with a larger --capacity"};
}

Result<std::uint64_t> SimulatedBackend::reserve_range(std::uint64_t bytes) {
  HEADROOM_CHECK(check_virtual_memory());
  HEADROOM_CHECK(PageTable::check_range(bytes));
  if (bytes >= address_limit - next_address_)
    return Error{Errc::no_space, fmt::format("no addresses left for {} bytes", bytes), ""};
  const std::uint64_t address = next_address_;
  next_address_ += bytes + page_bytes;  // A gap, so that no two ranges touch.
  table_.add_range(address, bytes);
  return address;
}

Result<PageHandle> SimulatedBackend::create_pages(std::uint32_t count) {
  HEADROOM_CHECK(check_virtual_memory());
  HEADROOM_CHECK(PageTable::check_count(count));
  HEADROOM_CHECK(check_free_pages(count));
  const PageHandle pages = table_.next_pages(count);
  table_.add_pages(count);
  return pages;
}

Status SimulatedBackend::destroy_pages(PageHandle pages) {
  HEADROOM_CHECK(table_.remove_pages(pages));
  return Done{};
}

Status SimulatedBackend::map(std::uint64_t address, PageHandle pages) {
  HEADROOM_CHECK(table_.map(address, pages));
  return Done{};
}

Status SimulatedBackend::allow_access(std::uint64_t address, std::uint64_t bytes) {
  return table_.check_mapped(address, bytes);
}

Status SimulatedBackend::unmap(std::uint64_t address) {
  HEADROOM_CHECK(table_.unmap(address));
  return Done{};
}

Result<std::uint64_t> SimulatedBackend::allocate(std::uint64_t bytes) {
  HEADROOM_CHECK(PlainTable::check_size(bytes));
  HEADROOM_CHECK(check_free_pages(bytes / page_bytes));
  if (bytes >= address_limit - next_address_)
    return Error{Errc::no_space, fmt::format("no addresses left for {} bytes", bytes), ""};
  const std::uint64_t address = next_address_;
  next_address_ += bytes + page_bytes;
  plain_.add(address, bytes);
  return address;
}

Status SimulatedBackend::release(std::uint64_t address) {
  HEADROOM_CHECK(plain_.remove(address));
  return Done{};
}

void SimulatedBackend::bind_stream(StreamId /*stream*/, std::uintptr_t /*native*/) {}

Status SimulatedBackend::wait_for(StreamId stream) {
  waited_[stream] = last_event_;
  return Done{};
}

Result<EventId> SimulatedBackend::record(StreamId stream) {
  events_[++last_event_] = stream;
  return last_event_;
}

Result<bool> SimulatedBackend::passed(EventId event) {
  const auto found = events_.find(event);
  if (found == events_.end())
    return Error{Errc::invalid, fmt::format("event {} was never recorded, or has passed", event),
                 ""};
  if (waited_[found->second] < event) return false;
  events_.erase(found);
  return true;
}

}  // namespace headroom::allocator
