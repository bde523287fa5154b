// SPDX-License-Identifier: Apache-2.0
#include "facts/links.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

using namespace literals;

Text text(std::string words) {
  return {std::move(words), Source{"/file", 0, ""}};
}

PcieDevice device(const char* pci, std::uint64_t width, std::uint64_t max_width,
                  double speed = 16) {
  const Source source{"/file", 1, ""};
  return {pci, "", {speed, source}, {16, source}, {width, source}, {max_width, source}};
}

TEST(Links, speed_is_read_in_old_and_new_words) {
  EXPECT_EQ(*parse_link_speed(text("16.0 GT/s PCIe\n")), 16.0);
  EXPECT_EQ(*parse_link_speed(text("2.5 GT/s\n")), 2.5);
  for (const char* nonsense : {"Unknown", "Unknown speed", "", "16", "-1 GT/s", "nan GT/s"}) {
    EXPECT_EQ(parse_link_speed(text(nonsense)).missing().why, Why::not_understood) << nonsense;
  }
}

TEST(Links, no_lanes_are_no_width) {
  EXPECT_EQ(*parse_link_width(text("16\n")), 16U);
  EXPECT_FALSE(parse_link_width(text("0\n")));
  EXPECT_FALSE(parse_link_width(text("255\n")));
}

TEST(Links, no_numa_is_no_node) {
  EXPECT_EQ(parse_numa_node(text("-1\n")).missing().why, Why::not_applicable);
  EXPECT_EQ(*parse_numa_node(text("1\n")), 1U);
}

TEST(Links, a_link_can_do_what_both_of_its_ends_can) {
  const auto hops = make_hops({device("gpu", 4, 16), device("port", 4, 4)});
  ASSERT_EQ(hops.size(), 1U);
  EXPECT_EQ(*hops[0].possible_width, 4U);
  EXPECT_EQ(hops[0].upper, "port");
}

TEST(Links, the_weakest_link_counts_wherever_it_is) {
  const auto hops = make_hops({device("gpu", 16, 16), device("inner", 16, 16),
                               device("slot", 8, 16), device("root", 8, 16)});
  ASSERT_EQ(hops.size(), 3U);
  EXPECT_EQ(weakest(hops)->lower, "slot");
  EXPECT_EQ(weakest({}), nullptr);
  EXPECT_EQ(make_hops({}).size(), 0U);
}

TEST(Links, a_device_without_a_bridge_stands_for_its_link) {
  const auto hops = make_hops({device("gpu", 8, 16)});
  ASSERT_EQ(hops.size(), 1U);
  EXPECT_EQ(*hops[0].width, 8U);
  EXPECT_EQ(*hops[0].possible_width, 16U);
}

std::string config_with_acs(char control) {
  std::string bytes(4096, '\0');
  bytes.replace(0x100, 4, {0x01, 0x00, 0x02, 0x14});
  bytes.replace(0x140, 7, {0x0d, 0x00, 0x01, 0x00, 0x1f, 0x00, control});
  return bytes;
}

TEST(Acs, redirection_is_found_behind_other_capabilities) {
  EXPECT_TRUE(*parse_acs_redirect(text(config_with_acs(0x1d))));
  EXPECT_FALSE(*parse_acs_redirect(text(config_with_acs(0x01))));  // Source validation alone.
}

TEST(Acs, what_users_may_read_does_not_tell) {
  EXPECT_EQ(parse_acs_redirect(text(std::string(64, '\0'))).missing().why, Why::no_permission);
  EXPECT_EQ(parse_acs_redirect(text(std::string(4096, '\0'))).missing().why, Why::not_present);
}

TEST(Acs, a_list_in_a_circle_ends) {
  std::string bytes(4096, '\0');
  bytes.replace(0x100, 4, {0x01, 0x00, 0x02, 0x10});  // Its next is itself.
  EXPECT_FALSE(parse_acs_redirect(text(bytes)));
}

TEST(Iommu, its_mode_is_the_groups_or_the_command_lines) {
  EXPECT_EQ(*parse_iommu_group(text("identity\n")), IommuMode::passthrough);
  EXPECT_EQ(*parse_iommu_group(text("DMA-FQ\n")), IommuMode::translated);
  EXPECT_FALSE(parse_iommu_group(text("blocked\n")));
  EXPECT_EQ(*parse_iommu_options(text("quiet iommu=pt\n")), IommuMode::passthrough);
  EXPECT_EQ(*parse_iommu_options(text("amd_iommu=off iommu=pt")), IommuMode::off);
  EXPECT_EQ(*parse_iommu_options(text("iommu=pt iommu.passthrough=0")), IommuMode::translated);
  EXPECT_EQ(parse_iommu_options(text("quiet")).missing().why, Why::not_present);
}

TEST(Kfd, a_link_without_a_bandwidth_does_not_say_0) {
  const KfdLink link =
      parse_kfd_link(text("type 11\nnode_from 2\nnode_to 3\nweight 15\nmin_bandwidth 0\n"
                          "max_bandwidth 50000\n"));
  EXPECT_EQ(*link.type, 11U);
  EXPECT_EQ(*link.to, 3U);
  EXPECT_FALSE(link.min_bandwidth);
  EXPECT_EQ(*link.max_bandwidth, 50000U);
}

TEST(SharedMemory, the_mount_says_its_size_or_half_of_ram) {
  const Fact<Bytes> ram{32_GiB, Source{"/proc/meminfo", 1, ""}};
  const char* docker =
      "proc /proc proc rw 0 0\nshm /dev/shm tmpfs rw,nosuid,size=65536k,inode64 0 0\n";
  EXPECT_EQ(*parse_shm_size(text(docker), ram), 64_MiB);
  EXPECT_EQ(parse_shm_size(text(docker), ram).source().line, 2);
  EXPECT_EQ(*parse_shm_size(text("tmpfs /dev/shm tmpfs rw,nosuid 0 0\n"), ram), 16_GiB);
  EXPECT_FALSE(parse_shm_size(text("tmpfs /dev/shm tmpfs rw 0 0\n"), Fact<Bytes>{}));
  EXPECT_FALSE(parse_shm_size(text("tmpfs /tmp tmpfs rw,size=5k 0 0\n"), ram));
  EXPECT_FALSE(parse_shm_size(text("a /dev/shm tmpfs size=99999999999999999999k 0 0\n"), ram));
}

TEST(LockedMemory, unlimited_is_no_limit) {
  EXPECT_EQ(*parse_memlock(text("Max locked memory         8388608              8388608  bytes\n")),
            8_MiB);
  EXPECT_EQ(parse_memlock(text("Max locked memory         unlimited            unlimited  bytes\n"))
                .missing()
                .why,
            Why::not_limited);
  EXPECT_FALSE(parse_memlock(text("Max locked memory\n")));
}

}  // namespace
}  // namespace headroom::facts
