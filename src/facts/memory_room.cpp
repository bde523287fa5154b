// SPDX-License-Identifier: Apache-2.0
#include "facts/memory_room.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "facts/cgroup.h"

namespace headroom::facts {
namespace {

constexpr Bytes machine_least = 256_MiB;
constexpr Bytes group_least = 32_MiB;
constexpr Bytes most = 2_GiB;
constexpr std::uint64_t part = 32;

Bytes reserve(Bytes whole, Bytes least) {
  return {std::clamp(whole.value / part, least.value, most.value)};
}

// The kernel's lists of file pages. Version 1 counts the groups below under a name of their own.
std::uint64_t file_cache(const Text& stat) {
  const auto sum = [&stat](const std::array<std::string_view, 2>& keys) {
    std::uint64_t bytes = 0;
    for (const std::string_view key : keys) bytes += find_number(stat, key).optional().value_or(0);
    return bytes;
  };
  const bool is_v1 = find_number(stat, "total_inactive_file").known();
  return is_v1 ? sum({"total_inactive_file", "total_active_file"})
               : sum({"inactive_file", "active_file"});
}

}  // namespace

Bytes machine_reserve(Bytes ram) {
  return reserve(ram, machine_least);
}

Bytes group_reserve(Bytes limit) {
  return reserve(limit, group_least);
}

std::optional<MemoryRoom> machine_room(const Meminfo& memory) {
  if (!memory.total || !memory.available) return std::nullopt;
  return MemoryRoom{"this machine", *memory.total, *memory.available,
                    machine_reserve(*memory.total)};
}

std::optional<MemoryRoom> group_room(const std::string& group, const Text& limit, const Text& usage,
                                     const Text& stat) {
  const auto bound = parse_memory_limit(limit);
  const auto used = parse_byte_count(usage);
  if (!bound || !used) return std::nullopt;
  const Bytes held = saturating_sub(*used, Bytes{file_cache(stat)});
  return MemoryRoom{"the control group " + (group.empty() ? "/" : group), *bound,
                    saturating_sub(*bound, held), group_reserve(*bound)};
}

const MemoryRoom* tightest(const std::vector<MemoryRoom>& rooms) {
  const auto least = std::min_element(
      rooms.begin(), rooms.end(),
      [](const MemoryRoom& a, const MemoryRoom& b) { return a.room() < b.room(); });
  return least == rooms.end() ? nullptr : &*least;
}

}  // namespace headroom::facts
