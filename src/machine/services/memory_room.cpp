// SPDX-License-Identifier: Apache-2.0
#include "machine/services/memory_room.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "machine/services/proc_file.h"

namespace headroom::machine {
namespace {

constexpr std::uint64_t nearly_full_percent = 85;
// Larger than any machine: how control groups of version 1 write "none".
constexpr std::uint64_t no_limit = std::uint64_t{1} << 60U;

void lower(std::optional<Bytes>& limit, std::uint64_t bytes) {
  if (bytes < no_limit && (!limit || Bytes{bytes} < *limit)) limit = Bytes{bytes};
}

// "Max address space  209715200  209715200  bytes": the soft limit.
std::optional<std::uint64_t> address_space_limit(std::uint64_t pid) {
  const auto text = read_proc_file(fmt::format("/proc/{}/limits", pid));
  if (!text) return std::nullopt;
  constexpr std::string_view key = "Max address space";
  const std::size_t at = text->find(key);
  if (at == std::string::npos) return std::nullopt;
  const std::string_view rest = trim(std::string_view(*text).substr(at + key.size()));
  return parse_u64(rest.substr(0, rest.find(' ')));  // "unlimited" is no number.
}

// cgroups(7), /proc/PID/cgroup: "0::/a/b" of version 2, "9:memory:/a/b" of version 1.
struct Group {
  std::string path;
  bool is_v2 = false;
};
std::vector<Group> groups_of(std::uint64_t pid) {
  std::vector<Group> groups;
  const auto text = read_proc_file(fmt::format("/proc/{}/cgroup", pid));
  if (!text) return groups;
  for (const std::string_view line : split_lines(*text)) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string controllers(line.substr(first + 1, second - first - 1));
    const std::string path(line.substr(second + 1));
    if (controllers.empty()) groups.push_back({"/sys/fs/cgroup" + path, true});
    if (controllers == "memory") groups.push_back({"/sys/fs/cgroup/memory" + path, false});
  }
  return groups;
}

// "oom_kill 3" in a file of such lines.
std::uint64_t counted(const std::optional<std::string>& text, std::string_view key) {
  if (!text) return 0;
  for (const std::string_view line : split_lines(*text)) {
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos && line.substr(0, space) == key)
      return parse_u64(trim(line.substr(space + 1))).value_or(0);
  }
  return 0;
}

// A limit of a group above counts as well.
void add_limits(const Group& group, std::optional<Bytes>& limit) {
  const std::string file = group.is_v2 ? "/memory.max" : "/memory.limit_in_bytes";
  const std::string top = group.is_v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
  for (std::string path = group.path; path.size() > top.size();
       path = path.substr(0, path.rfind('/'))) {
    const auto text = read_proc_file(path + file);
    const auto bytes = text ? parse_u64(trim(*text)) : std::nullopt;  // "max" is no number.
    if (bytes) lower(limit, *bytes);
  }
}

}  // namespace

MemoryRoom read_memory_room(const std::vector<ListedProcess>& processes) {
  MemoryRoom room{};
  for (const ListedProcess& one : processes) room.used += one.rss;
  for (const ListedProcess& one : processes) {
    // What it can still take, if the rest of its address space stays as it is.
    const auto limit = address_space_limit(one.pid);
    if (!limit) continue;
    const std::uint64_t taken = std::min(one.address_space.value, *limit);
    if (taken >= *limit / 100 * nearly_full_percent) room.nearly_full.push_back(one.pid);
    lower(room.limit, room.used.value + (*limit - taken));
  }
  if (processes.empty()) return room;
  for (const Group& group : groups_of(processes.front().pid)) {
    add_limits(group, room.limit);
    room.oom_kills += group.is_v2
                          ? counted(read_proc_file(group.path + "/memory.events"), "oom_kill")
                          : counted(read_proc_file(group.path + "/memory.oom_control"), "oom_kill");
  }
  return room;
}

}  // namespace headroom::machine
