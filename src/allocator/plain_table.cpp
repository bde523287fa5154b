// SPDX-License-Identifier: Apache-2.0
#include "allocator/plain_table.h"

#include <fmt/format.h>

#include "allocator/backend.h"

namespace headroom::allocator {

Status PlainTable::check_size(std::uint64_t bytes) {
  if (bytes != 0 && bytes % page_bytes == 0) return Done{};
  return Error{Errc::invalid,
               fmt::format("expected an allocation of whole 2 MiB units, found {} bytes", bytes),
               ""};
}

void PlainTable::add(std::uint64_t address, std::uint64_t bytes) {
  sizes_.emplace(address, bytes);
  bytes_ += bytes;
}

Result<std::uint64_t> PlainTable::size_of(std::uint64_t address) const {
  const auto found = sizes_.find(address);
  if (found != sizes_.end()) return found->second;
  return Error{Errc::invalid, fmt::format("{:#x} is not a plain allocation", address), ""};
}

Result<std::uint64_t> PlainTable::remove(std::uint64_t address) {
  HEADROOM_TRY(const std::uint64_t bytes, size_of(address));
  sizes_.erase(address);
  bytes_ -= bytes;
  return bytes;
}

}  // namespace headroom::allocator
