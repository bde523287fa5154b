// SPDX-License-Identifier: Apache-2.0
#include "machine/services/control_group.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "machine/each_entry.h"
#include "machine/services/proc_file.h"

namespace headroom::machine {
namespace {

constexpr std::array<const char*, 3> hierarchies{"/sys/fs/cgroup", "/sys/fs/cgroup/systemd",
                                                 "/sys/fs/cgroup/unified"};
constexpr int deepest = 16;

void add_pids(const std::string& folder, int depth, std::set<std::uint64_t>& pids) {
  const auto text = read_proc_file(folder + "/cgroup.procs");
  if (!text) return;
  for (const std::string_view line : split_lines(*text)) {
    if (const auto pid = parse_u64(trim(line))) pids.insert(*pid);
  }
  Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0 || depth == deepest) return;
  std::vector<std::string> below;
  each_entry(std::move(opened), [&below](int /*folder*/, const dirent& entry) {
    if (entry.d_type == DT_DIR) below.emplace_back(entry.d_name);
  });
  for (const std::string& name : below) add_pids(folder + "/" + name, depth + 1, pids);
}

}  // namespace

std::vector<ListedProcess> processes_of_group(const std::string& group) {
  std::vector<ListedProcess> found;
  if (group.empty() || group == "/") return found;
  std::set<std::uint64_t> pids;
  for (const char* hierarchy : hierarchies) {
    if (pids.empty()) add_pids(hierarchy + group, 0, pids);
  }
  if (pids.empty()) return found;
  auto all = list_processes();
  if (!all) return found;
  std::copy_if(std::make_move_iterator(all->begin()), std::make_move_iterator(all->end()),
               std::back_inserter(found),
               [&pids](const ListedProcess& one) { return pids.contains(one.pid); });
  return found;
}

}  // namespace headroom::machine
