// SPDX-License-Identifier: Apache-2.0
// What the kernel's side shows: DKMS's drivers, windows of a card, the compute driver's refusals,
// links between machines. Each with a neighbour that has the same words in another role.
#include <gmock/gmock.h>

#include <string>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using ::testing::Contains;
using testing::diagnose;
using ::testing::HasSubstr;

constexpr std::string_view amd = R"({"vendor": "AMD"})";

// ------------------------------------------------------------------ driver-not-loaded

TEST(Dkms, that_refuses_a_kernel_leaves_no_driver) {
  const auto found = diagnose(
      "sudo amdgpu-install --usecase=rocm\n"
      "ERROR (dkms apport): kernel package linux-headers-6.5.0-060500-generic is not supported\n",
      amd);
  EXPECT_EQ(found.cause.id, "driver-not-loaded");
  EXPECT_THAT(found.cause.title, HasSubstr("6.5.0-060500-generic"));
}

TEST(Dkms, that_fails_at_another_module_says_nothing_of_amdgpu) {
  const auto found = diagnose(
      "ERROR (dkms apport): kernel package linux-headers-6.5.0-060500-generic is not supported\n"
      "Consult /var/lib/dkms/virtualbox/7.0.10/build/make.log for more information.\n"
      "the amdgpu driver itself is fine\n",
      amd);
  EXPECT_NE(found.cause.id, "driver-not-loaded");
}

constexpr std::string_view device_missing =
    "[    3.101010] kfd kfd: DID 7360 is missing in supported_devices\n"
    "[    3.101015] kfd kfd: kgd2kfd_probe failed\n";

TEST(Dkms, of_another_kernel_leaves_the_kernels_own_driver) {
  const auto found = diagnose(
      std::string(device_missing) + "The table in /usr/src/amdgpu-3.9-19/amd/amdkfd has my card.\n",
      amd);
  EXPECT_EQ(found.cause.id, "driver-not-loaded");
  EXPECT_LE(found.cause.confidence, 0.8);
  EXPECT_THAT(found.cause.title, HasSubstr("3.9-19"));
}

TEST(Dkms, that_is_not_there_leaves_an_old_kernel) {
  EXPECT_EQ(diagnose(device_missing, amd).cause.id, "kernel-too-old");
}

// ------------------------------------------------------------------ bar-too-small

std::string listed_by_lshw(std::string_view windows) {
  return "  *-display\n"
         "       product: Vega 20 [Radeon VII]\n"
         "       configuration: driver=amdgpu latency=0\n"
         "       resources: irq:40 " +
         std::string(windows) +
         "\n"
         "amdgpu 0000:0a:00.0: amdgpu: trn=2 ACK should not assert! wait again !\n"
         "ERROR: Unable to detect any GPU devices, check amdgpu version and module status\n";
}

TEST(Windows, without_one_for_the_memory_are_too_small) {
  const auto found =
      diagnose(listed_by_lshw("memory:b0000000-b01fffff memory:b0200000-b027ffff"), amd);
  EXPECT_EQ(found.cause.id, "bar-too-small");
  EXPECT_THAT(found.cause.title, HasSubstr("2.0 MiB"));
}

TEST(Windows, with_one_for_the_memory_are_not) {
  const auto found =
      diagnose(listed_by_lshw("memory:a0000000-afffffff memory:b0000000-b01fffff"), amd);
  EXPECT_NE(found.cause.id, "bar-too-small");
}

// ------------------------------------------------------------------ igpu-selected

TEST(RefusedByKfd, the_integrated_gpu_stands_in_the_cards_way) {
  const auto found = diagnose(
      "03:00.0 0380: 1002:67df (rev e7)\n"
      "38:00.0 0300: 1002:15d8 (rev c8)\n"
      "[    4.000001] amdgpu 0000:38:00.0: kfd not supported on this ASIC\n"
      "clGetPlatformIDs(-1001)\n",
      amd);
  EXPECT_EQ(found.cause.id, "igpu-selected");
  EXPECT_LE(found.cause.confidence, 0.8);
}

TEST(RefusedByKfd, the_card_is_not_the_integrated_gpus_doing) {
  const auto found = diagnose(
      "03:00.0 0380: 1002:67df (rev e7)\n"
      "38:00.0 0300: 1002:15d8 (rev c8)\n"
      "[    4.000001] amdgpu 0000:03:00.0: kfd not supported on this ASIC\n",
      amd);
  EXPECT_NE(found.cause.id, "igpu-selected");
}

// ------------------------------------------------------------------ hw-error

constexpr std::string_view hang =
    "RCCL hangs during initialization of two nodes, one node alone works.\n";

TEST(Link, that_goes_down_and_comes_back_keeps_a_collective_waiting) {
  const auto found = diagnose(
      std::string(hang) +
          "link mlx5_2/1 subnet_prefix fe80::0 lid 12 state DOWN physical_state POLLING\n"
          "link mlx5_2/1 subnet_prefix fe80::0 lid 12 state ACTIVE physical_state LINK_UP\n",
      amd);
  EXPECT_EQ(found.cause.id, "hw-error");
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("NCCL_IB_HCA=^mlx5_2")));
}

TEST(Link, that_is_unused_is_not_broken) {
  const auto found = diagnose(
      std::string(hang) +
          "link mlx5_2/1 subnet_prefix fe80::0 lid 12 state ACTIVE physical_state LINK_UP\n"
          "link mlx5_3/1 subnet_prefix fe80::0 lid 13 state DOWN physical_state DISABLED\n",
      amd);
  EXPECT_EQ(found.cause.id, "collective-hang");
}

}  // namespace
}  // namespace headroom::findings
