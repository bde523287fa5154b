// SPDX-License-Identifier: Apache-2.0
#include "facts/fdinfo.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

using namespace literals;

TEST(Fdinfo, layout_up_to_6_13) {
  const auto client = parse_fdinfo(
      "pos:\t0\nflags:\t02100002\ndrm-driver:\tamdgpu\ndrm-client-id:\t11\n"
      "drm-pdev:\t0000:03:00.0\npasid:\t32771\ndrm-memory-vram:\t2048 KiB\n"
      "drm-memory-gtt: \t64 KiB\namd-requested-vram:\t4096 KiB\n");
  ASSERT_TRUE(client.has_value());
  EXPECT_EQ(client->client_id, 11U);
  EXPECT_EQ(client->pasid, 32771U);
  EXPECT_EQ(client->pdev, "0000:03:00.0");
  EXPECT_EQ(client->vram, 2_MiB);
  EXPECT_EQ(client->gtt, 64_KiB);
}

TEST(Fdinfo, layout_with_regions_counts_private_memory) {
  const auto client = parse_fdinfo(
      "drm-driver:\tamdgpu\ndrm-client-id:\t12\ndrm-pdev:\t0000:03:00.0\n"
      "drm-total-vram:\t8 GiB\ndrm-shared-vram:\t1 GiB\ndrm-resident-vram:\t8 GiB\n"
      "drm-total-gtt:\t4097\ndrm-shared-gtt:\t0\ndrm-resident-gtt:\t4097\n"
      "drm-memory-vram:\t8388608 KiB\n");
  ASSERT_TRUE(client.has_value());
  EXPECT_EQ(client->vram, 7_GiB);
  EXPECT_EQ(client->gtt, Bytes{4097});  // Bytes where the unit is left out.
}

TEST(Fdinfo, layout_of_5_x_names_neither_driver_nor_client) {
  const auto client =
      parse_fdinfo("pdev:\t0000:09:00.0\npasid:\t32769\nvram mem:\t10 kB\ngtt mem:\t20 kB\n");
  ASSERT_TRUE(client.has_value());
  EXPECT_EQ(client->driver, "amdgpu");
  EXPECT_EQ(client->client_id, 32769U);
  EXPECT_EQ(client->vram, 10_KiB);
}

TEST(Fdinfo, what_is_unknown_is_absent_not_zero) {
  const auto client = parse_fdinfo(
      "drm-driver:\tamdxdna_accel_driver\ndrm-client-id:\t287\ndrm-pdev:\t0000:c6:00.1\n"
      "drm-total-memory:\t8 MiB\n");
  ASSERT_TRUE(client.has_value());
  EXPECT_EQ(client->vram, std::nullopt);
  EXPECT_EQ(client->gtt, std::nullopt);
  const auto odd = parse_fdinfo(
      "drm-driver:\tamdgpu\ndrm-client-id:\t1\ndrm-pdev:\tx\ndrm-memory-vram:\t5 parsec\n"
      "drm-memory-gtt:\t99999999999999999999 KiB\n");
  ASSERT_TRUE(odd.has_value());
  EXPECT_EQ(odd->vram, std::nullopt);
  EXPECT_EQ(odd->gtt, std::nullopt);
}

TEST(Fdinfo, an_ordinary_descriptor_is_no_client) {
  EXPECT_FALSE(parse_fdinfo("pos:\t0\nflags:\t0100002\nmnt_id:\t30\n").has_value());
  EXPECT_FALSE(parse_fdinfo("").has_value());
  EXPECT_FALSE(parse_fdinfo("drm-driver:\tamdgpu\n").has_value());
}

}  // namespace
}  // namespace headroom::facts
