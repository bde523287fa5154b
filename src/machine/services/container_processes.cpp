// SPDX-License-Identifier: Apache-2.0
#include "machine/services/container_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "machine/services/control_group.h"
#include "machine/services/proc_file.h"

namespace headroom::machine {
namespace {

// The group that is named after the container: "/system.slice/docker-ID.scope",
// "/libpod_parent/libpod-ID", and no group below it. Empty: it has none.
std::string group_of(const ContainerState& container) {
  const auto text = read_proc_file(fmt::format("/proc/{}/cgroup", container.pid));
  for (const std::string_view line : text ? split_lines(*text) : std::vector<std::string_view>{}) {
    const std::size_t at = line.find(container.id), path = line.find('/');
    if (at == std::string_view::npos || path == std::string_view::npos) continue;
    const std::size_t end = line.find('/', at);
    return std::string(line.substr(path, end == std::string_view::npos ? end : end - path));
  }
  return "";
}

}  // namespace

std::vector<ListedProcess> processes_of_container(const ContainerState& container) {
  std::vector<ListedProcess> found;
  const auto all = is_up(container) && container.pid != 0
                       ? list_processes()
                       : Result<std::vector<ListedProcess>>(std::vector<ListedProcess>());
  if (!all) return found;
  const auto main = std::find_if(all->begin(), all->end(), [&container](const ListedProcess& one) {
    return one.pid == container.pid;
  });
  if (main == all->end()) return found;
  const std::string group = group_of(container);
  const bool is_ours =
      !group.empty() || command_line_of(main->parent, "").find(container.id) != std::string::npos;
  if (!is_ours) return found;
  std::set<std::uint64_t> pids{main->pid};
  for (const ListedProcess& one : processes_of_group(group)) pids.insert(one.pid);
  for (std::size_t before = 0; before != pids.size();) {
    before = pids.size();
    for (const ListedProcess& one : *all) {
      if (pids.contains(one.parent)) pids.insert(one.pid);
    }
  }
  std::copy_if(all->begin(), all->end(), std::back_inserter(found),
               [&pids](const ListedProcess& one) { return pids.contains(one.pid); });
  return found;
}

}  // namespace headroom::machine
