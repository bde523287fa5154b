// SPDX-License-Identifier: Apache-2.0
// WSL where the GPU was reached: what Linux's driver has and WSL has not is no failure there. And
// what WSL's own runtime says of a GPU that it does not reach.
#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::diagnose;

constexpr std::string_view listed =
    "WSL environment detected.\n"
    "*******\nAgent 2\n*******\n"
    "  Name:                    gfx1100\n"
    "  Marketing Name:          AMD Radeon RX 7900 XT\n"
    "  Device Type:             GPU\n"
    "*** Done ***\n";

TEST(WslReached, a_missing_kfd_and_module_are_normal_where_the_gpu_is_listed) {
  const std::string lacks =
      "$ ls -l /dev/kfd\n"
      "ls: cannot access '/dev/kfd': No such file or directory\n"
      "$ rocm-smi\n"
      "cat: /sys/module/amdgpu/initstate: No such file or directory\n"
      "ERROR:root:Driver not initialized (amdgpu not found in modules)\n"
      "$ rocminfo\n";
  EXPECT_EQ(diagnose(lacks + std::string(listed)).cause.id, "none");
  // Without the list nobody knows whether it is reached.
  EXPECT_EQ(diagnose(lacks + "WSL environment detected.\n").cause.id, "host-without-kfd");
}

TEST(WslReached, amd_smi_that_sees_nothing_is_normal_where_the_gpu_computes) {
  const std::string typed =
      "$ python3 -c \"import torch; x = torch.rand(64, 64, device='cuda'); "
      "print((x@x).sum().item())\"\n";
  const std::string blind =
      "$ rocminfo | head -1\nWSL environment detected.\n"
      "$ amd-smi\n"
      "ERROR:root:Unable to detect any GPU devices, check amdgpu version and module status "
      "(sudo modprobe amdgpu)\n";
  constexpr std::string_view amd = R"({"gpu": "RX 7900 XTX"})";
  EXPECT_EQ(diagnose(typed + "17179082752.0\n" + blind, amd).cause.id, "none");
  EXPECT_NE(diagnose(typed + "Traceback (most recent call last):\n" + blind, amd).cause.id, "none");
}

TEST(WslReached, what_the_host_reaches_says_nothing_about_a_container) {
  const auto found = diagnose(
      std::string(listed) +
      "$ docker run -it --device=/dev/kfd --device=/dev/dri rocm/pytorch\n"
      "docker: Error response from daemon: error gathering device information while adding custom "
      "device \"/dev/kfd\": no such file or directory.\n"
      "$ ls /dev/dxg\n/dev/dxg\n");
  EXPECT_EQ(found.cause.id, "host-without-kfd");
}

TEST(WslReached, a_runtime_that_starts_and_lists_a_cpu_alone_does_not_serve_the_card) {
  constexpr std::string_view log =
      "ERROR:root:Driver not initialized (amdgpu not found in modules)\n"
      "WSL environment detected.\n"
      "*******\nAgent 1\n*******\n"
      "  Name:                    13th Gen Intel(R) Core(TM) i5-13600KF\n"
      "  Device Type:             CPU\n"
      "*** Done ***\n";
  EXPECT_EQ(diagnose(log, R"({"gpu": "RX 9070", "rocm": "6.3.4"})").cause.id, "gpu-unsupported");
  EXPECT_NE(diagnose(log, R"({"gpu": "RX 9070", "rocm": "7.2"})").cause.id, "gpu-unsupported");
}

TEST(WslReached, the_wheels_own_runtime_fails_while_rocminfos_works) {
  const auto found = diagnose(
      "$ rocminfo | grep -E 'WSL|gfx'\n"
      "WSL environment detected.\n"
      "  Name:                    gfx1100\n"
      "$ AMD_LOG_LEVEL=3 python3 -c 'import torch; print(torch.cuda.is_available())'\n"
      ":1:rocdevice.cpp            :477 : 0041928602 us: [pid:2214  tid:0x7f4f] hsa_init failed.\n"
      "False\n",
      R"({"gpu": "RX 7900 XTX", "framework": "PyTorch 2.5.1+rocm6.2"})");
  EXPECT_EQ(found.cause.id, "rocm-version-mismatch");
}

TEST(WslReached, a_card_without_a_figure_from_windows_is_not_full) {
  const auto found = diagnose(
      "$ ls /dev/dxg\n/dev/dxg\n"
      "$ python3 -c \"import torch; print(torch.cuda.is_available(), torch.cuda.mem_get_info())\"\n"
      "pid:1817 tid:0x7f2c [GetSegmentId] Failed to get segment id for type 1\n"
      "True (4096, 16987488256)\n"
      "(no other program on the card)\n",
      R"({"gpu": "RX 9060 XT"})");
  EXPECT_EQ(found.cause.id, "free-memory-misreported");
  EXPECT_GE(found.cause.confidence, 0.75);
}

}  // namespace
}  // namespace headroom::findings
