// SPDX-License-Identifier: Apache-2.0
#include "allocator/simulated_backend.h"

#include <fmt/format.h>

namespace headroom::allocator {
namespace {

constexpr std::uint64_t address_limit = std::uint64_t{1} << 62U;

}  // namespace

Result<std::uint64_t> SimulatedBackend::reserve_range(std::uint64_t bytes) {
  HEADROOM_CHECK(PageTable::check_range(bytes));
  if (bytes >= address_limit - next_address_)
    return Error{Errc::no_space, fmt::format("no addresses left for {} bytes", bytes), ""};
  const std::uint64_t address = next_address_;
  next_address_ += bytes + page_bytes;  // A gap, so that no two ranges touch.
  table_.add_range(address, bytes);
  return address;
}

Result<PageHandle> SimulatedBackend::create_page() {
  if (table_.pages() >= page_limit_)
    return Error{
        Errc::out_of_memory,
        fmt::format("the simulated device has {} pages of 2 MiB and all are taken", page_limit_),
        "replay with a larger --capacity"};
  const PageHandle page = table_.next_page();
  table_.add_page();
  return page;
}

Status SimulatedBackend::destroy_page(PageHandle page) {
  return table_.remove_page(page);
}

Status SimulatedBackend::map(std::uint64_t address, PageHandle page) {
  return table_.map(address, page);
}

Status SimulatedBackend::unmap(std::uint64_t address) {
  HEADROOM_CHECK(table_.unmap(address));
  return Done{};
}

Status SimulatedBackend::wait_for(StreamId /*stream*/) {
  return Done{};  // Nothing runs behind a simulated device.
}

}  // namespace headroom::allocator
