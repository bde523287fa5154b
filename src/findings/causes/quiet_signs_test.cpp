// SPDX-License-Identifier: Apache-2.0
// Signs that no message names: who owns a node, how a figure compares, where a crash comes.
#include <gmock/gmock.h>

#include "findings/causes/causes.h"
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;

TEST(DevicePermission, a_group_without_a_name_has_no_members_in_the_pod) {
  const std::string pod = R"({"vendor": "AMD", "container": "Kubernetes pod"})";
  const std::string node = "crw-rw---- 1 root 104 235, 0 May  2 08:12 /dev/kfd\n";
  const auto found = diagnose("securityContext has runAsUser: 65532 and it fails\n" + node, pod);
  EXPECT_EQ(found.cause.id, "device-permission");
  EXPECT_NE(diagnose("it fails\n" + node, pod).cause.id, "device-permission");
  const auto open = diagnose(
      "runAsUser: 65532 and it fails\n"
      "crw-rw-rw- 1 root 104 235, 0 May  2 08:12 /dev/kfd\n",
      pod);
  EXPECT_NE(open.cause.id, "device-permission");
}

TEST(KfdNotPassed, toolbox_passes_every_device) {
  const std::string lost = "RuntimeError: No HIP GPUs are available\n";
  const auto boxed = diagnose(lost, R"({"vendor": "AMD", "container": "distrobox"})");
  EXPECT_EQ(boxed.cause.id, "insufficient-evidence");
  EXPECT_GT(confidence_of(boxed, "device-permission"), 0);
  EXPECT_EQ(diagnose(lost, R"({"vendor": "AMD", "container": "docker"})").cause.id,
            "kfd-not-passed");
}

constexpr std::string_view apu = R"({"vendor": "AMD", "gpu": "Radeon 8060S", "gfx": "gfx1151"})";

TEST(FreeMemory, hip_counts_the_carve_out_and_gtt_is_much_more) {
  const std::string hip = "torch's hipDeviceTotalMem says 7.75 GiB\n";
  const std::string vram =
      "$ cat /sys/class/drm/card0/device/mem_info_vram_total\n8321499136  # 7.75 GiB\n";
  const std::string gtt = "$ cat /sys/class/drm/card0/device/mem_info_gtt_total\n";
  EXPECT_EQ(diagnose(hip + vram + gtt + "64424509440\n", apu).cause.id, "free-memory-misreported");
  EXPECT_NE(diagnose(hip + vram + gtt + "8321499136\n", apu).cause.id, "free-memory-misreported");
}

TEST(FreeMemory, an_apu_that_is_full_before_anything_was_loaded) {
  const auto found = diagnose(
      "Available devices:\n"
      "  ROCm0: AMD Radeon Graphics (98304 MiB, 3011 MiB free)\n",
      apu);
  EXPECT_EQ(found.cause.id, "free-memory-misreported");
  const auto room = diagnose(
      "Available devices:\n"
      "  ROCm0: AMD Radeon Graphics (98304 MiB, 90011 MiB free)\n",
      apu);
  EXPECT_NE(room.cause.id, "free-memory-misreported");
}

TEST(IgpuSelected, a_runtime_that_dies_while_it_lists_both) {
  const std::string died =
      "$ rocminfo   # Segmentation fault in rocminfo with both GPUs\n"
      "rocminfo: Segmentation fault (core dumped)\n";
  const auto found = diagnose(
      died, R"({"vendor": "AMD", "gpu": "RX 7600 + 780M iGPU", "gfx": "gfx1102 + gfx1103"})");
  EXPECT_EQ(found.cause.id, "igpu-selected");
  const auto alone = diagnose(died, R"({"vendor": "AMD", "gpu": "RX 7600", "gfx": "gfx1102"})");
  EXPECT_NE(alone.cause.id, "igpu-selected");
}

TEST(GpuUnsupported, wsl_lists_more_than_it_serves) {
  const std::string log =
      "Kernel Version: 5.15.153.1-microsoft-standard-WSL2\n"
      "  Name:                    gfx1031\n"
      "The first copy to the device makes the program unresponsive, it stops responding.\n";
  EXPECT_EQ(diagnose(log, R"({"vendor": "AMD", "gpu": "RX 6700 XT"})").cause.id, "gpu-unsupported");
  std::string newer = log;
  newer.replace(newer.find("gfx1031"), 7, "gfx1100");
  EXPECT_NE(diagnose(newer, R"({"vendor": "AMD", "gpu": "RX 7900 XTX"})").cause.id,
            "gpu-unsupported");
}

constexpr std::string_view fault =
    "Memory access fault by GPU node-1 (Agent handle: 0x55d0) on address 0x7f1000. Reason: Page "
    "not "
    "present or supervisor privilege.\n";

TEST(GpuHang, a_fault_without_anything_besides_is_no_answer) {
  EXPECT_EQ(diagnose(fault).cause.id, "insufficient-evidence");
  const auto known = diagnose(fault, R"({"vendor": "AMD", "gpu": "RX 7600", "rocm": "6.2"})");
  EXPECT_EQ(known.cause.id, "gpu-hang");
}

TEST(RcclP2p, direct_transfers_that_the_kernels_options_allow_fail_at_once) {
  const std::string log =
      "NCCL INFO Channel 00/0 : 0[3000] -> 1[9000] via P2P/direct pointer\n"
      "Test NCCL failure common.cu:775 'unhandled cuda error'\n";
  EXPECT_EQ(diagnose("Only a kernel with CONFIG_HSA_AMD_P2P does this.\n" + log).cause.id,
            "rccl-p2p");
  EXPECT_NE(diagnose(log).cause.id, "rccl-p2p");
}

TEST(ToldVersions, falling_back_to_another_path_is_no_older_release) {
  const auto found = diagnose(
      "With ROCm 7.1 the server crashes at the first request.\n"
      "On the other host it logs that it is falling back to the butterfly path, and works.\n");
  EXPECT_LT(confidence_of(found, "rocm-regression"), 0.55);
}

TEST(AppBug, what_a_program_says_that_it_does_not_provide_for) {
  const auto found = diagnose(
      "ROCm wheels are in the venv, and it crashes with\n"
      "NotImplementedError at launcher/installer.py:210\n",
      R"({"vendor": "AMD"})");
  EXPECT_EQ(found.cause.id, "app-bug");
  const auto of_torch =
      diagnose("NotImplementedError at /usr/lib/python3/site-packages/torch/nn/module.py:210\n",
               R"({"vendor": "AMD"})");
  EXPECT_NE(of_torch.cause.id, "app-bug");
}

}  // namespace
}  // namespace headroom::findings
