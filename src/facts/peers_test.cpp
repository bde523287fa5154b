// SPDX-License-Identifier: Apache-2.0
#include "facts/peers.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

template <class T>
Fact<T> known(T value) {
  return {std::move(value), Source{"/file", 1, ""}};
}

KfdNode node(int index, std::vector<std::pair<std::uint64_t, int>> links, std::uint64_t hive = 0) {
  KfdNode made;
  made.index = index;
  made.simd_count = known(std::uint64_t{100});
  made.hive_id = known(hive);
  made.unique_id = known(std::uint64_t{0});
  made.io_links_count = known(std::uint64_t{links.size()});
  made.no_links = {Why::unreadable, "not all there"};
  for (const auto& [type, to] : links) {
    made.links.push_back(
        {known(type), known(static_cast<std::uint64_t>(to)), known(std::uint64_t{20}), {}, {}});
  }
  return made;
}

Gpu gpu(const char* pci, std::uint64_t index) {
  Gpu made;
  made.pci = pci;
  made.kfd_node = known(index);
  return made;
}

const std::vector<Gpu> two = {gpu("a", 2), gpu("b", 1)};

TEST(Peers, a_link_that_either_node_records_joins_them) {
  const auto peers = join_peers(two, {node(1, {{2, 0}, {11, 2}}), node(2, {{2, 0}})});
  ASSERT_EQ(peers.size(), 1U);
  EXPECT_EQ(peers[0].from, "a");
  EXPECT_EQ(*peers[0].kind, PeerKind::xgmi);
}

TEST(Peers, no_record_among_all_records_is_no_link) {
  const auto peers = join_peers(two, {node(1, {{2, 0}}), node(2, {{2, 0}})});
  EXPECT_EQ(peers[0].kind.missing().why, Why::not_present);
}

TEST(Peers, records_that_lack_say_nothing) {
  KfdNode half = node(1, {{2, 0}});
  half.p2p_links_count = known(std::uint64_t{1});
  EXPECT_EQ(join_peers(two, {half, node(2, {{2, 0}})})[0].kind.missing().why, Why::unreadable);
  EXPECT_EQ(join_peers(two, {node(1, {}), node(2, {})})[0].kind.missing().why, Why::unreadable);
}

TEST(Peers, a_common_hive_is_xgmi) {
  EXPECT_EQ(*join_peers(two, {node(1, {}, 9), node(2, {}, 9)})[0].kind, PeerKind::xgmi);
  EXPECT_FALSE(join_peers(two, {node(1, {}, 9), node(2, {}, 8)})[0].kind);
}

TEST(Peers, devices_are_counted_in_the_order_of_nodes) {
  Facts facts;
  facts.gpus = two;
  count_devices(facts, {node(0, {}), node(1, {}), node(2, {})});  // Node 0 counts as a GPU too.
  EXPECT_EQ(*facts.gpus[0].connection.hip_index, 2U);
  EXPECT_EQ(*facts.gpus[1].connection.hip_index, 1U);
}

KfdNode unread(int index, Why why = Why::not_present) {
  KfdNode made = node(index, {});
  made.simd_count = {Missing{why, ""}, Source{"/nodes/properties", 0, ""}};
  return made;
}

TEST(Peers, behind_a_node_that_could_not_be_read_no_place_is_known) {
  Facts facts;
  facts.gpus = {gpu("a", 1), gpu("b", 3)};
  count_devices(facts, {node(1, {}), unread(2), node(3, {})});
  EXPECT_EQ(*facts.gpus[0].connection.hip_index, 0U);
  ASSERT_FALSE(facts.gpus[1].connection.hip_index.known());
  EXPECT_EQ(facts.gpus[1].connection.hip_index.source().path, "/nodes/properties");
  facts.masks = {{"HIP_VISIBLE_DEVICES", "1", Source{}}};
  count_devices(facts, {node(1, {}), unread(2), node(3, {})});
  EXPECT_FALSE(facts.gpus[0].connection.hip_index.known());
  EXPECT_TRUE(facts.mask_errors.empty());
}

TEST(Peers, a_node_that_is_withheld_or_a_cpus_is_not_counted) {
  Facts facts;
  facts.gpus = {gpu("a", 3)};
  KfdNode cpu = unread(1);
  cpu.gpu_id = known(std::uint64_t{0});
  count_devices(facts, {cpu, unread(2, Why::no_permission), node(3, {})});
  EXPECT_EQ(*facts.gpus[0].connection.hip_index, 0U);
}

TEST(Peers, bridges_above_both_are_shared) {
  Gpu a = gpu("a", 1), b = gpu("b", 2);
  for (const char* pci : {"a", "port1", "switch", "root"})
    a.connection.path.push_back({pci, {}, {}, {}, {}, {}});
  for (const char* pci : {"b", "port2", "switch", "root"})
    b.connection.path.push_back({pci, {}, {}, {}, {}, {}});
  EXPECT_EQ(shared_bridges(a, b), (std::vector<std::string>{"switch", "root"}));
  EXPECT_TRUE(shared_bridges(a, gpu("c", 3)).empty());
}

}  // namespace
}  // namespace headroom::facts
