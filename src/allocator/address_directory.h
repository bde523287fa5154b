// SPDX-License-Identifier: Apache-2.0
// Which shard an address belongs to, readable by any thread without a lock: two levels of tables
// over units of 2 MiB. A free must know its shard before it can take the shard's lock. Addresses of
// 2^49 and more, which no device has, wrap around: the answer is where to look first.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "allocator/backend.h"

namespace headroom::allocator {

class AddressDirectory {
 public:
  static constexpr std::uint8_t nobody = 0;

  AddressDirectory() = default;
  AddressDirectory(const AddressDirectory&) = delete;
  AddressDirectory& operator=(const AddressDirectory&) = delete;

  // All units that [address, address + bytes) touches belong to `owner` from now on.
  void set(std::uint64_t address, std::uint64_t bytes, std::uint8_t owner) {
    const std::uint64_t last = (address + bytes - 1) / page_bytes;
    for (std::uint64_t unit = address / page_bytes; unit <= last; ++unit)
      table_for(unit)[unit % table_units].store(owner, std::memory_order_release);
  }

  std::uint8_t owner(std::uint64_t address) const {
    const std::uint64_t unit = address / page_bytes;
    const Table* table =
        tables_[(unit / table_units) % table_count].load(std::memory_order_acquire);
    return table == nullptr ? nobody : (*table)[unit % table_units].load(std::memory_order_acquire);
  }

 private:
  static constexpr std::uint64_t table_units = 1U << 16U;  // 128 GiB of addresses.
  static constexpr std::uint64_t table_count = 1U << 12U;  // 2^49 bytes.
  using Table = std::array<std::atomic<std::uint8_t>, table_units>;

  Table& table_for(std::uint64_t unit) {
    static_assert(std::atomic<std::uint8_t>::is_always_lock_free);
    std::atomic<Table*>& place = tables_[(unit / table_units) % table_count];
    if (Table* table = place.load(std::memory_order_acquire)) return *table;
    const std::scoped_lock lock(mutex_);
    if (Table* table = place.load(std::memory_order_acquire)) return *table;
    owned_.push_back(std::make_unique<Table>());
    place.store(owned_.back().get(), std::memory_order_release);
    return *owned_.back();
  }

  std::array<std::atomic<Table*>, table_count> tables_{};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Table>> owned_;
};

}  // namespace headroom::allocator
