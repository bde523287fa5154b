// SPDX-License-Identifier: Apache-2.0
#include "probe/read_memory_rooms.h"

#include <array>
#include <string>
#include <utility>

#include "facts/cgroup.h"
#include "probe/read_cgroup.h"
#include "probe/read_text.h"

namespace headroom::probe {
namespace {

// A limit and the usage that it limits. Version 1 counts memory, and memory with swap.
struct Bound {
  const char* limit;
  const char* usage;
};
constexpr std::array<Bound, 2> bounds_v1 = {
    {{"/memory.limit_in_bytes", "/memory.usage_in_bytes"},
     {"/memory.memsw.limit_in_bytes", "/memory.memsw.usage_in_bytes"}}};
constexpr std::array<Bound, 2> bounds_v2 = {
    {{"/memory.max", "/memory.current"}, {"/memory.high", "/memory.current"}}};

}  // namespace

std::vector<facts::MemoryRoom> read_memory_rooms(const machine::Files& files) {
  std::vector<facts::MemoryRoom> rooms;
  if (auto room = facts::machine_room(facts::parse_meminfo(read_text(files, "/proc/meminfo"))))
    rooms.push_back(*std::move(room));
  const facts::Text own = read_text(files, "/proc/self/cgroup");
  const auto paths = own ? facts::parse_cgroup_paths(*own) : facts::CgroupPaths{};
  const bool is_v1 = files.exists("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  const std::string base = is_v1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
  for (const std::string& group : groups_upward(is_v1 ? paths.memory_v1 : paths.v2)) {
    const std::string folder = base + group;
    for (const Bound& bound : is_v1 ? bounds_v1 : bounds_v2) {
      const facts::Text limit = read_text(files, folder + bound.limit);
      // Most groups have no limit, and the rest costs more.
      if (!facts::parse_memory_limit(limit)) continue;
      auto room = facts::group_room(group, limit, read_text(files, folder + bound.usage),
                                    read_text(files, folder + "/memory.stat"));
      if (room) rooms.push_back(*std::move(room));
    }
  }
  return rooms;
}

}  // namespace headroom::probe
