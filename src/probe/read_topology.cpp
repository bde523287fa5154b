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

// Sorted as text, 10 would come before 2.
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

}  // namespace

Topology read_topology(const Files& files) {
  Topology topology;
  topology.present = {files.exists(kfd_folder), Source{kfd_folder, 0, ""}};
  const Folder kfd = open_folder(files, kfd_folder);
  const auto listed = files.list(kfd.real + "/topology/nodes");
  if (!listed) {
    topology.no_node = to_missing(listed.error());
    return topology;
  }
  topology.no_node = {Why::not_present, "KFD has no node for this device"};
  for (const int index : find_numbers(*listed)) {
    facts::KfdNode node = read_node(files, kfd, index);
    if (!node.is_readable()) {
      ++topology.withheld;
      topology.no_node = node.simd_count.missing();
      if (topology.no_node.why == Why::no_permission) {
        topology.no_node.text = "the container's device rules withhold this GPU";
      }
    }
    topology.nodes.push_back(std::move(node));
  }
  return topology;
}

}  // namespace headroom::probe
