// SPDX-License-Identifier: Apache-2.0
#include "probe/read_cgroup.h"

#include "facts/cgroup.h"
#include "probe/read_text.h"

namespace headroom::probe {
namespace {

using facts::Fact;
using facts::Text;
using facts::Why;
using machine::Files;

// A group without the file (the root, or one whose controller is off) has no limit; a file that
// could not be read may hold any limit.
bool may_hold_any(const facts::Missing& missing) {
  return missing.why != Why::not_present && missing.why != Why::not_limited;
}

// Limits of outer groups also hold for inner ones, so the smallest counts. If there is none, the
// best reason is kept: "no limit is set" is an answer, "not there" is not.
Fact<Bytes> find_tightest(const Files& files, const std::string& base,
                          const std::vector<std::string>& groups, const std::string& name) {
  Fact<Bytes> tightest;
  bool first = true;
  for (const std::string& group : groups) {
    std::string path = base + group;
    path += "/" + name;
    auto limit = facts::parse_memory_limit(read_text(files, path));
    if (!limit && may_hold_any(limit.missing())) return limit;
    const bool tighter = limit && (!tightest || *limit < *tightest);
    const bool better_reason = !limit && !tightest && limit.missing().why == Why::not_limited;
    if (first || tighter || better_reason) tightest = std::move(limit);
    first = false;
  }
  return tightest;
}

}  // namespace

std::vector<std::string> groups_upward(std::string group) {
  if (!group.starts_with('/') || group == "/") group.clear();
  std::vector<std::string> groups = {group};
  while (!group.empty()) {
    group.erase(group.rfind('/'));
    groups.push_back(group);
  }
  return groups;
}

facts::CgroupLimits read_cgroup(const Files& files) {
  const Text own = read_text(files, "/proc/self/cgroup");
  const auto paths = own ? facts::parse_cgroup_paths(*own) : facts::CgroupPaths{};
  const bool v1 = files.exists("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  const std::string unified = "/sys/fs/cgroup";
  const std::string base = v1 ? unified + "/memory" : unified;
  const auto groups = groups_upward(v1 ? paths.memory_v1 : paths.v2);
  facts::CgroupLimits limits;
  limits.memory_max =
      find_tightest(files, base, groups, v1 ? "memory.limit_in_bytes" : "memory.max");
  if (!v1) limits.memory_high = find_tightest(files, base, groups, "memory.high");
  limits.memory_used = facts::parse_byte_count(read_text(
      files, base + groups.front() + (v1 ? "/memory.usage_in_bytes" : "/memory.current")));
  const auto unified_groups = groups_upward(paths.v2);
  limits.dmem_current = read_text(files, unified + unified_groups.front() + "/dmem.current");
  for (const std::string& group : unified_groups) {
    Text text = read_text(files, unified + group + "/dmem.max");
    const bool counts = text || limits.dmem_max.empty() || may_hold_any(text.missing());
    if (counts) limits.dmem_max.push_back(std::move(text));
  }
  return limits;
}

}  // namespace headroom::probe
