// SPDX-License-Identifier: Apache-2.0
#include "probe/read_links.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "facts/peers.h"
#include "probe/read_text.h"

namespace headroom::probe {
namespace {

using facts::Connection;
using facts::Fact;
using facts::Facts;
using facts::Gpu;
using facts::IommuMode;
using facts::Missing;
using facts::PcieDevice;
using facts::Source;
using facts::Text;
using facts::Why;
using machine::Files;

// One bridge can be above many GPUs, so each device is read only once.
using KnownDevices = std::map<std::string, PcieDevice>;

constexpr std::size_t bridges_max = 16;  // PCIe cannot stack more switches than this usefully.

bool is_pci_address(std::string_view name) {  // "0000:03:00.0"
  return name.size() >= 12 && name[name.size() - 8] == ':' && name[name.size() - 5] == ':' &&
         name[name.size() - 2] == '.';
}

const PcieDevice& read_device(const Files& files, const std::string& folder, KnownDevices& known) {
  const auto found = known.find(folder);
  if (found != known.end()) return found->second;
  const auto text = [&](const char* name) { return read_text(files, folder + "/" + name); };
  PcieDevice device;
  device.pci = folder.substr(folder.rfind('/') + 1);
  device.folder = folder;
  device.speed = facts::parse_link_speed(text("current_link_speed"));
  device.width = facts::parse_link_width(text("current_link_width"));
  device.max_speed = facts::parse_link_speed(text("max_link_speed"));
  device.max_width = facts::parse_link_width(text("max_link_width"));
  return known.emplace(folder, std::move(device)).first->second;
}

// Reads the device and the bridges above it; folders in /sys/devices are nested like the bus.
std::vector<PcieDevice> read_path(const Files& files, std::string at, KnownDevices& known) {
  std::vector<PcieDevice> path;
  if (!at.starts_with("/sys/devices/")) return path;
  while (path.size() < bridges_max && is_pci_address(at.substr(at.rfind('/') + 1))) {
    path.push_back(read_device(files, at, known));
    at.erase(at.rfind('/'));
  }
  return path;
}

// A translating IOMMU has a group for each device. Without groups, the command line or the absence
// of any IOMMU tells the mode.
Fact<IommuMode> read_iommu(const Files& files, const Folder& folder,
                           const Fact<IommuMode>& otherwise) {
  const auto link = files.read_link(folder.real + "/iommu_group");
  if (!link) return otherwise;
  const std::string group = link->substr(link->rfind('/') + 1);
  auto mode =
      facts::parse_iommu_group(read_text(files, "/sys/kernel/iommu_groups/" + group + "/type"));
  return mode ? mode : otherwise;
}

Fact<IommuMode> read_iommu_setting(const Files& files) {
  auto asked = facts::parse_iommu_options(read_text(files, "/proc/cmdline"));
  if (asked) return asked;
  const std::string folder = "/sys/class/iommu";
  const auto units = files.list(folder);
  if (units && units->empty()) return {IommuMode::off, Source{folder, 0, "no IOMMU"}};
  return asked;
}

Connection read_connection(const Files& files, const Gpu& gpu, const Fact<IommuMode>& setting,
                           KnownDevices& known) {
  Connection connection;
  connection.iommu = setting;
  if (gpu.folder.empty()) {
    connection.no_hops = {Why::not_present, "the PCI device is not seen"};
    connection.numa_node = {connection.no_hops, Source{"/sys/bus/pci/devices", 0, ""}};
    return connection;
  }
  const Folder folder = open_folder(files, gpu.folder);
  connection.numa_node = facts::parse_numa_node(read_text(files, folder, "numa_node"));
  connection.iommu = read_iommu(files, folder, setting);
  if (gpu.asleep()) {
    connection.no_hops = {Why::asleep, ""};
    return connection;
  }
  connection.path = read_path(files, folder.real, known);
  connection.hops = facts::make_hops(connection.path);
  connection.no_hops = {Why::not_present, "its place under /sys/devices is not seen"};
  return connection;
}

// Lists the ports between each GPU and the lowest bridge that it shares with another GPU. Reading a
// port's whole configuration takes a millisecond, so no others are read.
std::vector<std::string> ports_to_read(const std::vector<Gpu>& gpus) {
  std::vector<std::string> folders;
  for (const Gpu& gpu : gpus) {
    std::size_t common = 0;
    for (const Gpu& other : gpus) {
      if (&other == &gpu || other.folder == gpu.folder) continue;
      const auto shared = facts::shared_bridges(gpu, other);
      if (shared.empty()) continue;
      const auto& path = gpu.connection.path;
      const auto at = std::find_if(path.begin(), path.end(), [&](const PcieDevice& device) {
        return device.pci == shared.front();
      });
      common = std::max(common, static_cast<std::size_t>(at - path.begin()));
    }
    for (std::size_t i = 1; i < common; ++i) {
      const std::string& folder = gpu.connection.path[i].folder;
      if (std::find(folders.begin(), folders.end(), folder) == folders.end()) {
        folders.push_back(folder);
      }
    }
  }
  return folders;
}

void read_interconnect(const Files& files, Facts& facts) {
  facts::Interconnect& interconnect = facts.interconnect;
  interconnect.shm =
      facts::parse_shm_size(read_text(files, "/proc/mounts"), facts.machine.memory.total);
  // A capture has the limits of its first process, since this shell is not on that machine.
  const std::string limits = files.is_real() ? "/proc/self/limits" : "/proc/1/limits";
  interconnect.memlock = facts::parse_memlock(read_text(files, limits));
  const std::string fabric = "/sys/class/infiniband";
  const auto adapters = files.list(fabric);
  interconnect.infiniband = {adapters && !adapters->empty(), Source{fabric, 0, ""}};
  for (const std::string& folder : ports_to_read(facts.gpus)) {
    interconnect.ports.push_back({folder.substr(folder.rfind('/') + 1),
                                  facts::parse_acs_redirect(read_text(files, folder + "/config"))});
  }
}

void join_all_peers(const Topology& topology, Facts& facts) {
  const auto reachable = std::count_if(facts.gpus.begin(), facts.gpus.end(),
                                       [](const Gpu& gpu) { return gpu.kfd_node.known(); });
  facts.interconnect.peers = join_peers(facts.gpus, topology.nodes);
  facts.interconnect.no_peers =
      static_cast<std::size_t>(reachable) > facts::peers_max
          ? Missing{Why::not_asked, "too many GPUs to list each pair"}
          : Missing{Why::not_applicable, "fewer than two GPUs that compute can reach"};
}

}  // namespace

void read_links(const Files& files, const Topology& topology, Facts& facts) {
  if (facts.gpus.empty()) {
    const Missing none{Why::not_asked, "there is no GPU"};
    facts.interconnect.shm = {none, Source{}};
    facts.interconnect.memlock = {none, Source{}};
    facts.interconnect.infiniband = {none, Source{}};
    return;
  }
  const Fact<IommuMode> setting = read_iommu_setting(files);
  KnownDevices known;
  std::map<std::string, Connection> connections;  // Partitions of a card share its folder.
  for (Gpu& gpu : facts.gpus) {
    const auto [place, is_new] = connections.try_emplace(gpu.folder);
    if (is_new) place->second = read_connection(files, gpu, setting, known);
    gpu.connection = place->second;
  }
  read_interconnect(files, facts);
  join_all_peers(topology, facts);
  count_devices(facts, topology.nodes);
}

}  // namespace headroom::probe
