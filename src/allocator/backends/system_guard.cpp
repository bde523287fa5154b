// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/system_guard.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "facts/text_facts.h"
#include "probe/read_text.h"

namespace headroom::allocator {
namespace {

using facts::Guard;
using facts::GuardedPool;
using facts::MemoryRoom;

// data/signatures.toml knows this sentence by its beginning.
Error too_little_left(std::uint64_t bytes, const MemoryRoom& room) {
  return {Errc::out_of_memory,
          fmt::format("headroom's guard keeps {} of {} for the desktop and the system: {} of {} "
                      "are free, and {} more were asked for",
                      to_string(room.reserve), room.whose, to_string(room.left),
                      to_string(room.total), to_string(Bytes{bytes})),
          "a smaller batch takes less; headroom run --guard SIZE changes how much is kept, --guard "
          "off lifts it"};
}

std::optional<MemoryRoom> read_room(const machine::Files& files, const Guard& guard) {
  if (guard.pool == GuardedPool::ram)
    return make_room(guard, facts::parse_meminfo(probe::read_text(files, "/proc/meminfo")));
  const auto read = [&](const char* what) {
    return facts::parse_byte_count(
        probe::read_text(files, fmt::format("/sys/bus/pci/devices/{}/mem_info_{}_{}", guard.pci,
                                            to_string(guard.pool), what)));
  };
  return make_room(guard, read("total"), read("used"));
}

std::optional<MemoryRoom> ask_driver(Bytes leave, const CountMemory& count) {
  const auto info = count();
  if (!info || info->free_bytes > info->total_bytes) return std::nullopt;
  return MemoryRoom{"the GPU", {info->total_bytes}, {info->free_bytes}, leave};
}

}  // namespace

Status SystemGuard::take(std::uint64_t bytes) {
  const auto rooms = ask_();
  const MemoryRoom* tightest = facts::tightest(rooms);
  if (tightest != nullptr && tightest->room().value < bytes)
    return too_little_left(bytes, *tightest);
  return shared_ == nullptr ? Status(Done{}) : shared_->take(bytes);
}

std::optional<std::uint64_t> SystemGuard::left() const {
  const auto rooms = ask_();
  const MemoryRoom* tightest = facts::tightest(rooms);
  if (tightest == nullptr) return std::nullopt;
  return tightest->room().value;
}

Status SystemGuard::give_back(std::uint64_t bytes) {
  return shared_ == nullptr ? Status(Done{}) : shared_->give_back(bytes);
}

Result<BudgetState> SystemGuard::state() {
  if (shared_ != nullptr) return shared_->state();
  return Error{Errc::unsupported, "no budget is shared with other processes", ""};
}

SystemGuard::Ask watch_pools(const facts::GuardText& guards, const std::string& pci,
                             machine::Files files, CountMemory count) {
  std::vector<Guard> own;
  for (const Guard& guard : guards.guards) {
    if (guard.pci == pci) own.push_back(guard);
  }
  if (own.empty() && !guards.of_each) return nullptr;
  // A std::function has to be copyable.
  const auto opened = std::make_shared<const machine::Files>(std::move(files));
  return [own = std::move(own), of_each = guards.of_each, opened, count = std::move(count)] {
    std::vector<MemoryRoom> rooms;
    for (const Guard& guard : own) {
      if (auto room = read_room(*opened, guard)) rooms.push_back(*std::move(room));
    }
    if (!of_each) return rooms;
    if (auto room = ask_driver(*of_each, count)) rooms.push_back(*std::move(room));
    return rooms;
  };
}

}  // namespace headroom::allocator
