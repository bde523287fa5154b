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

Result<std::uint64_t> PlainTable::remove(std::uint64_t address) {
  const auto found = sizes_.find(address);
  if (found == sizes_.end())
    return Error{Errc::invalid, fmt::format("{:#x} is not a plain allocation", address), ""};
  const std::uint64_t bytes = found->second;
  sizes_.erase(found);
  bytes_ -= bytes;
  return bytes;
}

}  // namespace headroom::allocator
