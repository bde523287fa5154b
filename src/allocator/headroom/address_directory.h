// SPDX-License-Identifier: Apache-2.0
// Tells which shard an address belongs to; any thread can ask without a lock. A free must know its
// shard before it can take the shard's lock. The directory has two levels of tables over units of 2
// MiB. Plain allocations need not begin where a unit does, so two shards can share a unit; and
// addresses from 2^49 on, which no device has, wrap around. In these cases the answer is only the
// shard to try first.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "allocator/backend.h"
#include "base/mutex.h"

namespace headroom::allocator {

class AddressDirectory {
 public:
  static constexpr std::uint8_t nobody = 0;
  static constexpr std::uint8_t max_owner = 127;

  struct Answer {
    std::uint8_t owner = nobody;
    bool is_sure = false;  // Whether no other shard can own the address.
  };

  AddressDirectory() = default;
  AddressDirectory(const AddressDirectory&) = delete;
  AddressDirectory& operator=(const AddressDirectory&) = delete;

  // From now on all units that [address, address + bytes) touches belong to `owner`; the first and
  // the last unit may belong to other owners as well.
  void set(std::uint64_t address, std::uint64_t bytes, std::uint8_t owner) {
    const std::uint64_t end = address + bytes;
    for (std::uint64_t unit = address / page_bytes; unit * page_bytes < end; ++unit) {
      Unit& entry = table_for(unit)[unit % table_units];
      if (unit * page_bytes < address || (unit + 1) * page_bytes > end)
        add(entry, owner);
      else
        entry.store(owner, std::memory_order_release);
    }
  }

  Answer owner(std::uint64_t address) const {
    const std::uint64_t unit = address / page_bytes;
    const Table* table =
        tables_[(unit / table_units) % table_count].load(std::memory_order_acquire);
    if (table == nullptr) return {};
    const std::uint8_t entry = (*table)[unit % table_units].load(std::memory_order_acquire);
    return {static_cast<std::uint8_t>(entry & max_owner),
            (entry & shared) == 0 && unit < table_units * table_count};
  }

 private:
  using Unit = std::atomic<std::uint8_t>;
  // Is set beside an owner if the unit may have others too.
  static constexpr std::uint8_t shared = 128;

  // An earlier owner may have left the unit since; the directory does not count owners.
  static void add(Unit& unit, std::uint8_t owner) {
    std::uint8_t was = unit.load(std::memory_order_relaxed);
    std::uint8_t wanted = 0;
    do {
      const bool is_alone = was == nobody || was == owner;
      wanted = is_alone ? owner : static_cast<std::uint8_t>(owner | shared);
    } while (!unit.compare_exchange_weak(was, wanted, std::memory_order_release,
                                         std::memory_order_relaxed));
  }

  static constexpr std::uint64_t table_units = 1U << 16U;  // 128 GiB of addresses.
  static constexpr std::uint64_t table_count = 1U << 12U;  // 2^49 bytes.
  using Table = std::array<Unit, table_units>;

  Table& table_for(std::uint64_t unit) {
    static_assert(Unit::is_always_lock_free);
    std::atomic<Table*>& place = tables_[(unit / table_units) % table_count];
    if (Table* table = place.load(std::memory_order_acquire)) return *table;
    const MutexLock lock(mutex_);
    if (Table* table = place.load(std::memory_order_acquire)) return *table;
    owned_.push_back(std::make_unique<Table>());
    place.store(owned_.back().get(), std::memory_order_release);
    return *owned_.back();
  }

  std::array<std::atomic<Table*>, table_count> tables_{};
  Mutex mutex_;
  std::vector<std::unique_ptr<Table>> owned_ HEADROOM_GUARDED_BY(mutex_);
};

}  // namespace headroom::allocator
