// SPDX-License-Identifier: Apache-2.0
#include "facts/peers.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::facts {
namespace {

constexpr std::uint64_t type_pcie = 2, type_xgmi = 11;  // CRAT_IOLINK_TYPE_*.

const KfdNode* node_of(const Gpu& gpu, const std::vector<KfdNode>& nodes) {
  if (!gpu.kfd_node) return nullptr;
  for (const KfdNode& node : nodes) {
    if (static_cast<std::uint64_t>(node.index) == *gpu.kfd_node) return &node;
  }
  return nullptr;
}

const KfdLink* link_to(const KfdNode& from, int to) {
  for (const KfdLink& link : from.links) {
    if (link.to && *link.to == static_cast<std::uint64_t>(to)) return &link;
  }
  return nullptr;
}

Fact<PeerKind> kind_of(const Fact<std::uint64_t>& type) {
  if (!type) return type.absent<PeerKind>();
  if (*type == type_xgmi) return {PeerKind::xgmi, type.source()};
  if (*type == type_pcie) return {PeerKind::pcie, type.source()};
  return {Missing{Why::not_understood, fmt::format("link type {}", *type)}, type.source()};
}

PeerLink join_pair(const Gpu& a, const Gpu& b, const KfdNode& from, const KfdNode& to) {
  PeerLink peer{a.pci, b.pci, {}, {}, {}, {}};
  const KfdLink* link = link_to(from, to.index);
  if (link == nullptr) link = link_to(to, from.index);
  if (link != nullptr) {
    peer.kind = kind_of(link->type);
    peer.weight = link->weight;
    peer.min_bandwidth = link->min_bandwidth;
    peer.max_bandwidth = link->max_bandwidth;
    return peer;
  }
  const Source source = from.hive_id.source();
  if (from.hive_id && to.hive_id && *from.hive_id != 0 && *from.hive_id == *to.hive_id) {
    peer.kind = {PeerKind::xgmi, source};
  } else if (from.has_all_links() && to.has_all_links()) {
    peer.kind = {Missing{Why::not_present, "the compute driver records no link between them"},
                 source};
  } else {
    peer.kind = {from.no_links, source};
  }
  peer.weight = {
      peer.kind ? Missing{Why::not_asked, "known by the hive alone"} : peer.kind.missing(), source};
  peer.min_bandwidth = peer.weight;
  peer.max_bandwidth = peer.weight;
  return peer;
}

constexpr const char* hidden = "hidden by a mask";

const KfdNode* first_unread(const std::vector<KfdNode>& nodes) {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [](const KfdNode& node) { return node.is_unread(); });
  return found == nodes.end() ? nullptr : &*found;
}

Fact<std::uint64_t> index_in(const std::vector<std::size_t>& order, std::size_t position,
                             const Source& source) {
  const auto found = std::find(order.begin(), order.end(), position);
  if (found == order.end()) return {Missing{Why::not_present, hidden}, source};
  return {static_cast<std::uint64_t>(found - order.begin()), source};
}

}  // namespace

bool is_hidden(const Fact<std::uint64_t>& index) {
  return !index && index.missing().text == hidden;
}

std::vector<PeerLink> join_peers(const std::vector<Gpu>& gpus, const std::vector<KfdNode>& nodes) {
  std::vector<std::pair<const Gpu*, const KfdNode*>> known;
  for (const Gpu& gpu : gpus) {
    if (const KfdNode* node = node_of(gpu, nodes)) known.emplace_back(&gpu, node);
  }
  std::vector<PeerLink> peers;
  if (known.size() > peers_max) return peers;
  for (std::size_t i = 0; i < known.size(); ++i) {
    for (std::size_t j = i + 1; j < known.size(); ++j) {
      peers.push_back(
          join_pair(*known[i].first, *known[j].first, *known[i].second, *known[j].second));
    }
  }
  return peers;
}

void count_devices(Facts& facts, const std::vector<KfdNode>& nodes) {
  std::vector<std::uint64_t> ids;  // Of GPU nodes, which are sorted by number.
  std::vector<int> numbers;
  for (const KfdNode& node : nodes) {
    if (!node.is_gpu()) continue;
    ids.push_back(node.unique_id ? *node.unique_id : 0);  // 0: no id names it.
    numbers.push_back(node.index);
  }
  const KfdNode* unread = first_unread(nodes);
  VisibleDevices visible = apply_masks(ids, facts.masks);
  if (unread == nullptr) facts.mask_errors = std::move(visible.rejected);
  for (Gpu& gpu : facts.gpus) {
    const bool counted_before = gpu.kfd_node && unread != nullptr &&
                                *gpu.kfd_node < static_cast<std::uint64_t>(unread->index);
    if (unread != nullptr && !(counted_before && facts.masks.empty())) {
      gpu.connection.rocr_index = unread->simd_count.absent<std::uint64_t>();
      gpu.connection.hip_index = gpu.connection.rocr_index;
      continue;
    }
    if (!gpu.kfd_node) {
      gpu.connection.rocr_index = gpu.kfd_node;
      gpu.connection.hip_index = gpu.kfd_node;
      continue;
    }
    const auto place = std::find(numbers.begin(), numbers.end(), static_cast<int>(*gpu.kfd_node));
    const auto position = static_cast<std::size_t>(place - numbers.begin());
    const Source source{"computed", 0, "the order of KFD's nodes, under the masks that are set"};
    gpu.connection.rocr_index = index_in(visible.rocr, position, source);
    gpu.connection.hip_index = index_in(visible.hip, position, source);
  }
}

std::vector<std::string> shared_bridges(const Gpu& a, const Gpu& b) {
  std::vector<std::string> shared;
  for (std::size_t i = 1; i < a.connection.path.size(); ++i) {
    const std::string& bridge = a.connection.path[i].pci;
    const auto& other = b.connection.path;
    const bool both = std::any_of(other.begin(), other.end(),
                                  [&](const PcieDevice& device) { return device.pci == bridge; });
    if (both) shared.push_back(bridge);
  }
  return shared;
}

}  // namespace headroom::facts
