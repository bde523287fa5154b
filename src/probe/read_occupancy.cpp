// SPDX-License-Identifier: Apache-2.0
#include "probe/read_occupancy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "probe/read_processes.h"
#include "probe/read_text.h"

namespace headroom::probe {
namespace {

using facts::Occupant;
using machine::Files;

std::optional<facts::ProcessStat> read_stat(const Files& files, std::uint64_t pid) {
  const auto text = files.read(fmt::format("/proc/{}/stat", pid));
  return text ? facts::parse_process_stat(*text) : std::nullopt;
}

std::optional<std::uint64_t> read_uid(const Files& files, const std::string& folder) {
  const auto line = facts::find_line(read_text(files, folder + "/status"), "Uid");
  const auto words = line ? split_words(*line) : std::vector<std::string_view>{};
  return words.empty() ? std::nullopt : parse_u64(words.front());
}

// "…/user@1000.service/app.slice/notebook.service" is a unit of user 1000's own manager.
std::optional<std::uint64_t> manager_of(const Files& files, const std::string& folder) {
  const auto cgroup = files.read(folder + "/cgroup");
  if (!cgroup) return std::nullopt;
  constexpr std::string_view start = "/user@";
  const std::size_t at = cgroup->find(start);
  if (at == std::string::npos) return std::nullopt;
  const std::string_view rest = std::string_view(*cgroup).substr(at + start.size());
  const std::size_t dot = rest.find(".service/");
  return dot == std::string_view::npos ? std::nullopt : parse_u64(rest.substr(0, dot));
}

// Whether a process names itself a worker: by the command line that Python's multiprocessing gives
// to a child it spawns, or by the thread name of PyTorch's loaders. Forked children without such a
// name look like any other process and are not counted.
bool calls_itself_worker(const Files& files, const std::string& folder,
                         const std::optional<facts::ProcessStat>& stat) {
  if (stat && stat->name.starts_with("pt_data_worker")) return true;
  const auto cmdline = files.read(folder + "/cmdline");
  if (!cmdline) return false;
  static constexpr std::array<std::string_view, 3> words{
      "--multiprocessing-fork", "from multiprocessing.spawn import spawn_main",
      "from multiprocessing.forkserver import main"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return cmdline->find(word) != std::string::npos;
  });
}

// Whether the parent is the first process or a user's service manager, to which children go when
// their parent ends.
bool collected_by_init(const Files& files, std::uint64_t parent) {
  if (parent == 1) return true;
  const auto stat = read_stat(files, parent);
  return stat && stat->name == "systemd";
}

bool opens(const Files& files, const std::string& folder, std::string_view node) {
  const auto links = files.list_links(folder + "/fd");
  return links && std::any_of(links->begin(), links->end(),
                              [&](const machine::Link& link) { return link.target == node; });
}

Occupant make_occupant(const Files& files, const facts::Process& process, bool in_kfd) {
  const std::string folder = fmt::format("/proc/{}", process.pid);
  Occupant occupant;
  occupant.pid = process.pid;
  occupant.command = process.command;
  occupant.user = process.user;
  occupant.membership = process.membership;
  occupant.uid = read_uid(files, folder);
  occupant.stat = read_stat(files, process.pid);
  occupant.unit_of_user = manager_of(files, folder);
  for (const facts::DrmClient& client : process.clients) occupant.gpus.push_back(client.pdev);
  std::sort(occupant.gpus.begin(), occupant.gpus.end());
  occupant.gpus.erase(std::unique(occupant.gpus.begin(), occupant.gpus.end()), occupant.gpus.end());
  occupant.opens_kfd = in_kfd || opens(files, folder, "/dev/kfd");
  occupant.left_behind = occupant.stat && calls_itself_worker(files, folder, occupant.stat) &&
                         collected_by_init(files, occupant.stat->parent);
  return occupant;
}

std::vector<std::uint64_t> read_own_line(const Files& files, std::uint64_t own_pid) {
  std::vector<std::uint64_t> line;
  const auto add = [&line](std::uint64_t pid) {
    const bool known = std::find(line.begin(), line.end(), pid) != line.end();
    if (!known && pid != 0) line.push_back(pid);
    return !known && pid != 0;
  };
  for (std::uint64_t pid = own_pid; add(pid);) {
    const auto stat = read_stat(files, pid);
    if (!stat) break;
    add(stat->session);
    add(stat->group);
    pid = stat->parent;
  }
  return line;
}

std::optional<std::uint64_t> find_card(const Files& files, const std::string& pci) {
  const auto names = files.list("/sys/bus/pci/devices/" + pci + "/drm");
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    if (!name.starts_with("card")) continue;
    if (const auto number = parse_u64(name.substr(4))) return number;
  }
  return std::nullopt;
}

bool draws_console(const Files& files, const std::string& pci) {
  const auto names = files.list("/sys/class/graphics");
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    if (!name.starts_with("fb") || !parse_u64(name.substr(2))) continue;
    const auto device = files.resolve("/sys/class/graphics/" + name + "/device");
    if (device && device->find("/" + pci) != std::string::npos) return true;
  }
  return false;
}

facts::Fact<bool> find_recover(const Files& files, std::uint64_t card) {
  const std::string folder = fmt::format("/sys/kernel/debug/dri/{}", card);
  const facts::Source source{folder, 0, ""};
  const auto names = files.list(folder);
  if (!names) return {to_missing(names.error()), source};
  return {std::find(names->begin(), names->end(), "amdgpu_gpu_recover") != names->end(), source};
}

facts::Screens read_screens(const Files& files, const std::string& pci) {
  facts::Screens screens;
  screens.pci = pci;
  screens.card = find_card(files, pci);
  const auto vga =
      facts::parse_number(read_text(files, "/sys/bus/pci/devices/" + pci + "/boot_vga"));
  screens.boot_vga = vga ? facts::Fact<bool>(*vga == 1, vga.source()) : vga.template absent<bool>();
  screens.console = draws_console(files, pci);
  if (!screens.card) return screens;
  screens.can_recover = find_recover(files, *screens.card);
  const std::string start = fmt::format("card{}-", *screens.card);
  const auto names = files.list("/sys/class/drm");
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    if (!name.starts_with(start)) continue;
    const auto status = facts::parse_word(read_text(files, "/sys/class/drm/" + name + "/status"));
    const auto enabled = facts::parse_word(read_text(files, "/sys/class/drm/" + name + "/enabled"));
    const bool off = enabled && *enabled == "disabled";
    if (status && *status == "connected" && !off) {
      screens.connected.push_back(name.substr(start.size()));
    }
  }
  return screens;
}

}  // namespace

facts::Occupancy read_occupancy(const Files& files, const std::vector<facts::Gpu>& gpus,
                                std::uint64_t own_pid) {
  facts::Occupancy occupancy;
  const facts::Processes processes = read_processes(files);
  occupancy.complete = processes.complete;
  for (const facts::Process& process : processes.visible) {
    const bool in_kfd =
        std::any_of(processes.kfd.begin(), processes.kfd.end(),
                    [&](const facts::KfdProcess& kfd) { return kfd.pid == process.pid; });
    if (process.pid != own_pid) {
      occupancy.occupants.push_back(make_occupant(files, process, in_kfd));
    }
  }
  for (const facts::Gpu& gpu : gpus) occupancy.screens.push_back(read_screens(files, gpu.pci));
  if (own_pid != 0) {
    occupancy.own_line = read_own_line(files, own_pid);
    const auto cgroup = files.read(fmt::format("/proc/{}/cgroup", own_pid));
    if (cgroup) occupancy.own_unit = facts::parse_membership(*cgroup).unit;
  }
  std::sort(occupancy.occupants.begin(), occupancy.occupants.end(),
            [](const Occupant& a, const Occupant& b) { return a.pid < b.pid; });
  return occupancy;
}

}  // namespace headroom::probe
