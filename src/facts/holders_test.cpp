// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "facts/facts.h"

namespace headroom::facts {
namespace {

using namespace literals;

template <class T>
Fact<T> known(T value) {
  return {std::move(value), Source{"/file", 1, "text"}};
}

Gpu card() {
  Gpu gpu;
  gpu.pci = "0000:03:00.0";
  gpu.kfd_id = known(std::uint64_t{7});
  return gpu;
}

Process process(std::uint64_t pid, std::vector<DrmClient> clients) {
  Process made;
  made.pid = pid;
  made.command = "job";
  made.clients = std::move(clients);
  made.opens_gpu = true;
  return made;
}

DrmClient client(std::uint64_t id, Bytes vram, std::uint64_t pasid = 0) {
  return {"amdgpu", "0000:03:00.0", id, pasid, vram, Bytes{}};
}

KfdProcess in_kfd(std::uint64_t pid, Bytes vram, std::uint64_t pasid = 0) {
  KfdProcess made;
  made.pid = pid;
  made.pasid = known(pasid);
  made.vram[7] = known(vram);
  return made;
}

TEST(Holders, a_client_seen_through_two_descriptors_or_processes_counts_once) {
  Processes processes;
  processes.visible = {process(10, {client(1, 4_GiB), client(1, 4_GiB)}),
                       process(11, {client(1, 4_GiB), client(2, 1_GiB)})};
  const auto holders = find_holders(card(), processes, false, false);
  ASSERT_EQ(holders.size(), 2U);
  EXPECT_EQ(holders[0].vram, 4_GiB);
  EXPECT_EQ(holders[1].vram, 1_GiB);
}

TEST(Holders, both_witnesses_of_one_process_are_one_holder) {
  Processes processes;
  processes.visible = {process(10, {client(1, 4_GiB)})};
  processes.kfd = {in_kfd(10, 5_GiB)};
  const auto holders = find_holders(card(), processes, false, false);
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_EQ(holders[0].vram, 5_GiB);
  EXPECT_TRUE(holders[0].in_kfd);
}

TEST(Holders, in_a_container_the_same_number_is_another_process) {
  Processes processes;
  processes.visible = {process(10, {})};
  processes.visible[0].opens_gpu = false;
  processes.kfd = {in_kfd(10, 5_GiB)};
  const auto holders = find_holders(card(), processes, false, true);
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_FALSE(holders[0].visible);
  EXPECT_EQ(holders[0].command, "");
}

TEST(Holders, the_address_space_tells_a_containers_own_process) {
  Processes processes;
  processes.visible = {process(77, {client(1, 5_GiB, 32811)})};
  processes.kfd = {in_kfd(4127, 5_GiB, 32811)};
  const auto holders = find_holders(card(), processes, false, true);
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_EQ(holders[0].pid, 77U);
  EXPECT_TRUE(holders[0].visible);
}

TEST(Holders, an_address_space_of_0_matches_nobody) {
  Processes processes;
  processes.visible = {process(77, {client(1, 5_GiB, 0)})};
  processes.kfd = {in_kfd(4127, 5_GiB, 0)};
  EXPECT_EQ(find_holders(card(), processes, false, true).size(), 2U);
}

TEST(Holders, on_an_apu_kfds_figure_is_gtt) {
  Processes processes;
  processes.kfd = {in_kfd(10, 5_GiB)};
  const auto holders = find_holders(card(), processes, true, false);
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_EQ(holders[0].gtt, 5_GiB);
  EXPECT_EQ(holders[0].vram, std::nullopt);
}

TEST(Holders, of_a_partition_only_kfd_tells) {
  Gpu first = card();
  first.partition = true;
  Processes processes;
  processes.visible = {process(10, {client(1, 4_GiB)})};
  processes.kfd = {in_kfd(10, 4_GiB)};
  processes.kfd[0].vram = {{8, known(4_GiB)}};  // The next partition.
  EXPECT_TRUE(find_holders(first, processes, false, false).empty());
}

TEST(Holders, nothing_held_is_no_holder) {
  Processes processes;
  processes.kfd = {in_kfd(10, {})};
  EXPECT_TRUE(find_holders(card(), processes, false, false).empty());
}

}  // namespace
}  // namespace headroom::facts
