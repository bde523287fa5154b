// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "probe/read_gpus.h"
#include "probe/read_text.h"

namespace headroom::probe {
namespace {

using facts::Missing;
using facts::Source;
using facts::Text;
using facts::Why;
using machine::Files;

constexpr const char* kfd_folder = "/sys/class/kfd/kfd";

// Sorts by number; sorted as text, 10 would come before 2.
std::vector<int> find_numbers(const std::vector<std::string>& names) {
  std::vector<int> numbers;
  for (const std::string& name : names) {
    const auto number = parse_u64(name);
    if (number && *number <= 1'000'000) numbers.push_back(static_cast<int>(*number));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

facts::KfdNode read_node(const Files& files, const Folder& kfd, int index) {
  const std::string node = fmt::format("topology/nodes/{}", index);
  std::vector<facts::KfdBankText> banks;
  const auto listed = files.list(kfd.real + "/" + node + "/mem_banks");
  for (const int number : find_numbers(listed ? *listed : std::vector<std::string>{})) {
    const std::string bank = fmt::format("{}/mem_banks/{}", node, number);
    banks.push_back({read_text(files, kfd, bank + "/properties"),
                     read_text(files, kfd, bank + "/used_memory")});
  }
  if (banks.empty()) {
    const Source source{kfd.shown + "/" + node + "/mem_banks", 0, ""};
    const Text none{listed ? Missing{Why::not_present, ""} : to_missing(listed.error()), source};
    banks.push_back({none, none});
  }
  return parse_kfd_node(index, read_text(files, kfd, node + "/gpu_id"),
                        read_text(files, kfd, node + "/properties"), banks);
}

// Only links between GPUs matter, so those of a single GPU and those of CPU nodes are not read.
// Links between partitions could be thousands; hives tell the same for them.
constexpr std::size_t linked_gpus_max = 16;

void read_node_links(const Files& files, const Folder& kfd, facts::KfdNode& node) {
  for (const char* kind : {"io_links", "p2p_links"}) {
    const std::string links = fmt::format("topology/nodes/{}/{}", node.index, kind);
    const auto listed = files.list(kfd.real + "/" + links);
    for (const int number : find_numbers(listed ? *listed : std::vector<std::string>{})) {
      const std::string link = fmt::format("{}/{}/properties", links, number);
      node.links.push_back(facts::parse_kfd_link(read_text(files, kfd, link)));
    }
  }
}

void read_links_between(const Files& files, const Folder& kfd, std::vector<facts::KfdNode>& nodes) {
  const auto gpus = std::count_if(nodes.begin(), nodes.end(),
                                  [](const facts::KfdNode& node) { return node.is_gpu(); });
  for (facts::KfdNode& node : nodes) {
    if (!node.is_gpu()) continue;
    node.no_links = {Why::not_asked, "too many GPUs to list each pair"};
    if (gpus > 1 && static_cast<std::size_t>(gpus) <= linked_gpus_max) {
      node.no_links = {Why::unreadable, "its links are not all there to read"};
      read_node_links(files, kfd, node);
    }
  }
}

// A node that could not be read may belong to any device without a node, so one such node is named.
void note_unread(const facts::KfdNode& node, Topology& topology) {
  if (!node.is_withheld() && !node.is_unread()) return;
  ++(node.is_withheld() ? topology.withheld : topology.unread);
  topology.no_node = {node.simd_count.missing(), node.simd_count.source()};
  if (node.is_withheld()) {
    topology.no_node.why.text = "the container's device rules withhold this GPU";
  }
}

}  // namespace

Topology read_topology(const Files& files) {
  Topology topology;
  topology.present = {files.exists(kfd_folder), Source{kfd_folder, 0, ""}};
  const Folder kfd = open_folder(files, kfd_folder);
  const auto listed = files.list(kfd.real + "/topology/nodes");
  const Source nodes{kfd.shown + "/topology/nodes", 0, ""};
  if (!listed) {
    topology.no_node = {to_missing(listed.error()), nodes};
    return topology;
  }
  topology.no_node = {{Why::not_present, "KFD has no node for this device"}, nodes};
  for (const int index : find_numbers(*listed)) {
    topology.nodes.push_back(read_node(files, kfd, index));
    note_unread(topology.nodes.back(), topology);
  }
  read_links_between(files, kfd, topology.nodes);
  return topology;
}

}  // namespace headroom::probe
