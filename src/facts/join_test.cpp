// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "facts/facts.h"

namespace headroom::facts {
namespace {

const knowledge::GpuTables& tables() {
  static const knowledge::GpuTables loaded = *knowledge::load_gpu_tables();
  return loaded;
}

template <class T>
Fact<T> known(T value) {
  return {std::move(value), Source{"/file", 1, "text"}};
}

PciGpu device(const char* pci, std::uint64_t id, std::uint64_t render) {
  PciGpu made;
  made.pci = pci;
  made.folder = pci;
  made.vendor = known(amd_vendor);
  made.device = known(id);
  made.render_minor = known(render);
  return made;
}

Text text(std::string words) {
  return {std::move(words), Source{"/file", 0, ""}};
}

KfdNode node(int index, const std::string& properties) {
  return parse_kfd_node(index, text(std::to_string(100 + index) + "\n"), text(properties),
                        {{text("heap_type 2\nsize_in_bytes 1000\n"), Text{}}});
}

TEST(Join, a_render_node_joins_card_and_compute_node) {
  const auto gpus =
      join_gpus({device("0000:06:00.0", 0x744c, 129), device("0000:03:00.0", 0x744c, 128)},
                {node(1, "simd_count 8\ngfx_target_version 110000\ndrm_render_minor 128\n"),
                 node(2, "simd_count 8\ngfx_target_version 110000\ndrm_render_minor 129\n")},
                {}, tables());
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].pci, "0000:03:00.0");
  EXPECT_EQ(*gpus[0].kfd_id, 101U);
  EXPECT_EQ(*gpus[1].kfd_id, 102U);
  EXPECT_EQ(gpus[0].pool->value, 1000U);
}

TEST(Join, an_old_kernels_node_is_joined_by_address_and_named_by_its_pci_id) {
  const auto gpus =
      join_gpus({device("0000:09:00.0", 0x687f, 128)},
                {node(1, "simd_count 256\nlocation_id 2304\ndevice_id 26751\n")}, {}, tables());
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(*gpus[0].gfx, "gfx900");
  EXPECT_TRUE(gpus[0].kfd_id.known());
}

TEST(Join, a_node_that_is_cpu_and_gpu_is_a_gpu) {
  const KfdNode combined = node(0, "cpu_cores_count 8\nsimd_count 44\ngfx_target_version 90002\n");
  EXPECT_TRUE(combined.is_gpu());
  EXPECT_FALSE(node(0, "cpu_cores_count 8\nsimd_count 0\n").is_gpu());
}

TEST(Join, partitions_of_one_card_are_gpus_whose_use_sysfs_does_not_tell) {
  PciGpu card = device("0000:05:00.0", 0x74a1, 128);
  card.vram_used = known(Bytes{5000});
  const std::string shape = "simd_count 152\ngfx_target_version 90402\nlocation_id ";
  const auto gpus = join_gpus({card},
                              {node(2, shape + "1280\ndrm_render_minor 128\n"),
                               node(3, shape + "1281\ndrm_render_minor 129\n")},
                              {}, tables());
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[1].pci, "0000:05:00.1");
  EXPECT_TRUE(gpus[1].partition);
  EXPECT_FALSE(gpus[1].vram_used.known());
}

TEST(Join, a_card_without_a_node_says_why) {
  const auto gpus = join_gpus({device("0000:03:00.0", 0x7550, 128)}, {},
                              {{Why::no_permission, "withheld"}, {"/nodes/1", 0, ""}}, tables());
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].kfd_id.missing().why, Why::no_permission);
  EXPECT_EQ(gpus[0].pool.missing().text, "withheld");
  EXPECT_EQ(gpus[0].pool.source().path, "/nodes/1");
  EXPECT_EQ(*gpus[0].gfx, "gfx1201");
}

TEST(Join, other_vendors_are_not_amd_gpus) {
  PciGpu nvidia = device("0000:01:00.0", 0x2204, 128);
  nvidia.vendor = known(std::uint64_t{0x10de});
  EXPECT_TRUE(join_gpus({nvidia}, {}, {}, tables()).empty());
}

Gpu gpu(std::uint64_t id, const char* gfx) {
  Gpu made;
  made.device = known(id);
  if (gfx != nullptr) made.gfx = known(std::string(gfx));
  made.vram_total = known(Bytes{1});
  return made;
}

TEST(Integrated, the_target_tells_where_it_is_only_one) {
  EXPECT_TRUE(*infer_integrated(gpu(0x1638, "gfx90c"), {}, tables()));
  EXPECT_FALSE(*infer_integrated(gpu(0x744c, "gfx1100"), {}, tables()));
}

TEST(Integrated, mi300_is_told_by_its_pci_id) {
  EXPECT_TRUE(*infer_integrated(gpu(0x74a0, "gfx942"), {}, tables()));
  EXPECT_FALSE(*infer_integrated(gpu(0x74a1, "gfx942"), {}, tables()));
}

TEST(Integrated, an_unknown_chip_is_told_by_what_the_driver_writes_for_cards) {
  Gpu card = gpu(0x7fff, nullptr);
  card.vram_vendor = known(std::string("samsung"));
  EXPECT_FALSE(*infer_integrated(card, known(std::string("6.17.0")), tables()));
  EXPECT_TRUE(*infer_integrated(gpu(0x7fff, nullptr), known(std::string("6.17.0")), tables()));
  EXPECT_FALSE(
      infer_integrated(gpu(0x7fff, nullptr), known(std::string("6.1.0")), tables()).known());
  EXPECT_FALSE(infer_integrated(gpu(0x7fff, nullptr), {}, tables()).known());
}

}  // namespace
}  // namespace headroom::facts
