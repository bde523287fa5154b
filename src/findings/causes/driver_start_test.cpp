// SPDX-License-Identifier: Apache-2.0
// A driver that does not take its card: no room for its windows, or a kernel from before it.
#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using ::testing::Contains;
using testing::diagnose;
using ::testing::HasSubstr;

constexpr std::string_view gave_up =
    "[    9.13] amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init\n"
    "[    9.14] amdgpu: probe of 0000:03:00.0 failed with error -12\n";

TEST(BarTooSmall, a_window_without_room_is_why_the_start_failed) {
  const auto found = diagnose(
      "[    3.41] pci 0000:03:00.0: BAR 0 [mem size 0x400000000 64bit pref]: can't assign; no "
      "space\n" +
      std::string(gave_up));
  EXPECT_EQ(found.cause.id, "bar-too-small");
  EXPECT_GE(found.cause.confidence, 0.9);
  EXPECT_THAT(found.cause.title, HasSubstr("16.00 GiB"));
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("Above 4G Decoding")));
}

TEST(BarTooSmall, the_older_wording_and_another_error_are_the_same) {
  EXPECT_EQ(diagnose("amdgpu 0000:01:00.0: BAR 0: no space for [mem size 0x10000000 64bit pref]\n"
                     "amdgpu 0000:01:00.0: amdgpu: Fatal error during GPU init\n"
                     "amdgpu: probe of 0000:01:00.0 failed with error -22\n")
                .cause.id,
            "bar-too-small");
}

TEST(BarTooSmall, minus_twelve_alone_is_likely_and_not_proven) {
  const auto found = diagnose(gave_up);
  EXPECT_EQ(found.cause.id, "bar-too-small");
  EXPECT_LT(found.cause.confidence, 0.8);
  EXPECT_GT(confidence_of(found, "driver-not-loaded"), 0);
}

TEST(BarTooSmall, a_virtual_machine_is_told_about_its_own_window) {
  const auto found = diagnose("[    0.00] Hypervisor detected: KVM\n" + std::string(gave_up));
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("X-PciMmio64Mb")));
}

TEST(BarTooSmall, another_devices_window_is_no_reason) {
  const auto found = diagnose(
      "pci 0000:25:00.0: BAR 0: no space for [mem size 0x00100000 64bit]\n"
      "amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init\n"
      "amdgpu: probe of 0000:03:00.0 failed with error -22\n");
  EXPECT_EQ(found.cause.id, "driver-not-loaded");
}

TEST(BarTooSmall, virtual_functions_without_windows_are_harmless) {
  const auto found = diagnose(
      "pci 0000:03:00.0: BAR 7: no space for [mem size 0x00100000 64bit]\n"
      "amdgpu 0000:03:00.0: amdgpu: 16368M of VRAM memory ready\n"
      "kfd kfd: amdgpu: added device 1002:7550\n");
  EXPECT_NE(found.cause.id, "bar-too-small");
}

TEST(BarTooSmall, a_small_window_that_works_is_no_failure) {
  const auto found = diagnose(
      "[drm] Failed to resize FB BAR: -28\n"
      "[drm] Not enough PCI address space for a large BAR.\n"
      "[drm] Detected VRAM RAM=16368M, BAR=256M\n"
      "amdgpu 0000:03:00.0: amdgpu: 16368M of VRAM memory ready\n"
      "kfd kfd: amdgpu: added device 1002:7550\n");
  EXPECT_EQ(found.cause.id, "none");
}

TEST(BarTooSmall, a_missing_firmware_file_explains_it_instead) {
  const auto found = diagnose(
      "amdgpu 0000:03:00.0: Direct firmware load for amdgpu/gc_12_0_1_pfp.bin failed with error "
      "-2\n" +
      std::string(gave_up));
  EXPECT_NE(found.cause.id, "bar-too-small");
}

constexpr std::string_view unbound =
    "$ lspci -nnk -s 03:00.0\n"
    "03:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 48 "
    "[Radeon RX 9070/9070 XT] [1002:7550] (rev c0)\n"
    "\tSubsystem: Sapphire Technology Limited Device [1da2:e490]\n"
    "\tKernel modules: amdgpu\n";

TEST(Unbound, a_kernel_from_before_the_card_leaves_it_without_a_driver) {
  const auto found = diagnose("$ uname -r\n6.8.0-45-generic\n" + std::string(unbound));
  EXPECT_EQ(found.cause.id, "kernel-too-old");
  EXPECT_GE(found.cause.confidence, 0.8);
  EXPECT_THAT(found.cause.title, HasSubstr("gfx1201"));
}

TEST(Unbound, a_kernel_that_knows_the_card_is_not_blamed) {
  const auto found = diagnose("$ uname -r\n6.14.0-37-generic\n" + std::string(unbound));
  EXPECT_EQ(found.cause.id, "driver-not-loaded");
  EXPECT_LT(confidence_of(found, "kernel-too-old"), 0.5);
}

TEST(Unbound, a_card_with_its_driver_is_none_and_neither_is_a_list_without_drivers) {
  EXPECT_NE(diagnose("$ uname -r\n6.8.0-45-generic\n" + std::string(unbound) +
                     "\tKernel driver in use: amdgpu\n")
                .cause.id,
            "kernel-too-old");
  EXPECT_NE(diagnose("$ uname -r\n6.8.0-45-generic\n"
                     "03:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] "
                     "Navi 48 [Radeon RX 9070/9070 XT]\n")
                .cause.id,
            "driver-not-loaded");
}

TEST(NoDevice, the_words_alone_do_not_tell_why) {
  const auto found =
      diagnose("ggml_cuda_init: failed to initialize ROCm: no ROCm-capable device is detected\n");
  EXPECT_EQ(found.cause.id, "insufficient-evidence");
}

TEST(NoDevice, the_driver_that_is_not_loaded_is_why) {
  EXPECT_EQ(diagnose("hipErrorNoDevice: no ROCm-capable device is detected\n"
                     "$ rocminfo\n"
                     "ROCk module is NOT loaded, possibly no GPU devices\n")
                .cause.id,
            "driver-not-loaded");
}

TEST(KfdEinval, a_rootless_container_is_turned_away_by_its_mapping) {
  const auto found = diagnose(
      "$ docker exec box rocminfo\n"
      "ROCk module version 6.7.0 is loaded\n"
      "Unable to open /dev/kfd read-write: Invalid argument\n"
      "root is member of nogroup group\n");
  EXPECT_EQ(found.cause.id, "device-permission");
  EXPECT_LT(found.cause.confidence, 0.8) << "EINVAL has other reasons too";
}

TEST(KfdEinval, speaks_against_a_build_for_cuda_which_never_opens_the_node) {
  const auto found = diagnose(
      "$ strace -f python -c 'import torch; torch.cuda.init()' 2>&1 | grep kfd\n"
      "openat(AT_FDCWD, \"/dev/kfd\", O_RDWR|O_CLOEXEC) = -1 EINVAL (Invalid argument)\n"
      ">>> torch.cuda.is_available()\n"
      "False\n");
  EXPECT_NE(found.cause.id, "wrong-wheel");
}

TEST(KfdEinval, outside_of_a_container_it_is_not_called_a_matter_of_permission) {
  const auto found = diagnose(
      "$ rocminfo\n"
      "ROCk module is loaded\n"
      "Unable to open /dev/kfd read-write: Invalid argument\n"
      "ada is member of render group\n");
  EXPECT_NE(found.cause.id, "device-permission");
}

TEST(NoKfd, a_kernel_without_the_compute_driver_has_no_node_to_pass_on) {
  const auto found = diagnose(
      "$ ls /host/dev/kfd\n"
      "ls: cannot access '/host/dev/kfd': No such file or directory\n"
      "$ zgrep HSA /proc/config.gz\n"
      "# CONFIG_HSA_AMD is not set\n");
  EXPECT_EQ(found.cause.id, "host-without-kfd");
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("CONFIG_HSA_AMD=y")));
}

TEST(Atomics, a_card_that_kfd_takes_without_them_fails_where_kernels_call_the_host) {
  const std::string call =
      ":1:rocvirtual.cpp           :2902: 1187 us: 77 : Pcie atomics not enabled, hostcall not "
      "supported\n"
      ":1:rocvirtual.cpp           :3235: 1188 us: 77 : AQL dispatch failed!\n"
      "RuntimeError: HIP error: the operation cannot be performed in the present state\n";
  const auto alone = diagnose(call);
  EXPECT_EQ(alone.cause.id, "pcie-atomics");
  EXPECT_LT(alone.cause.confidence, 0.8);
  const auto with_the_kernel =
      diagnose(call +
               "[    3.9] amdgpu 0000:03:00.0: amdgpu: PCIE atomic ops is not supported\n"
               "[    5.1] kfd kfd: amdgpu: added device 1002:744c\n");
  EXPECT_EQ(with_the_kernel.cause.id, "pcie-atomics");
  EXPECT_GE(with_the_kernel.cause.confidence, 0.85);
}

TEST(Unbound, lshw_says_that_nothing_has_the_card) {
  const auto log = [](std::string_view maker) {
    return "False\n  *-display UNCLAIMED\n       description: VGA compatible controller\n"
           "       product: Navi 32\n       vendor: " +
           std::string(maker) + "\n       configuration: latency=0\n" +
           "RuntimeError: No HIP GPUs are available\n";
  };
  const auto found = diagnose(log("Advanced Micro Devices, Inc. [AMD/ATI]"));
  EXPECT_EQ(found.cause.id, "driver-not-loaded");
  EXPECT_THAT(found.cause.evidence.front().text, HasSubstr("UNCLAIMED"));
  EXPECT_NE(diagnose(log("ASPEED Technology, Inc."), R"({"vendor": "AMD"})").cause.id,
            "driver-not-loaded");
}

}  // namespace
}  // namespace headroom::findings
