// SPDX-License-Identifier: Apache-2.0
// Causes that look alike: for each line that tells them apart, the case that has it and the
// neighbour that does not.
#include <gtest/gtest.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;

std::string ignored(const std::string& rest) {
  return "2024-05-04 09:45:04.378608: I tensorflow/core/common_runtime/gpu/gpu_device.cc:2266] "
         "Ignoring visible gpu device (device: 0, name: Radeon, pci bus id: 0000:03:00.0) with "
         "AMDGPU " +
         rest + "\n";
}

TEST(NearNeighbours, a_chip_older_than_the_least_is_unsupported_and_a_dropped_one_is_not) {
  const auto old = diagnose(ignored("ISA gfx801. The minimum required AMDGPU ISA is gfx803."),
                            R"({"vendor": "AMD"})");
  EXPECT_EQ(old.cause.id, "gpu-unsupported");
  const auto hawaii = diagnose(ignored("ISA gfx701. The minimum required AMDGPU ISA is gfx803."),
                               R"({"vendor": "AMD"})");
  EXPECT_EQ(hawaii.cause.id, "gpu-unsupported");
  const auto polaris = diagnose(ignored("ISA gfx803. The minimum required AMDGPU ISA is gfx900."),
                                R"({"vendor": "AMD"})");
  EXPECT_NE(polaris.cause.id, "gpu-unsupported");
}

TEST(NearNeighbours, names_that_run_together_are_the_frameworks_mistake_and_a_short_list_is_not) {
  const auto glued = diagnose(
      ignored("version : gfx1100. The supported AMDGPU versions are gfx1030gfx1100, gfx900."),
      R"({"vendor": "AMD"})");
  EXPECT_EQ(glued.cause.id, "framework-bug");
  const auto absent =
      diagnose(ignored("version : gfx1102. The supported AMDGPU versions are gfx1030, gfx900."),
               R"({"vendor": "AMD"})");
  EXPECT_NE(absent.cause.id, "framework-bug");
}

TEST(NearNeighbours, a_file_of_another_release_is_a_mismatch_and_one_of_the_same_is_not) {
  const std::string failure =
      "rocBLAS error: Could not load "
      "/opt/rocm-6.0.0/lib/rocblas/library/TensileLibrary_lazy_gfx1030.dat\n";
  EXPECT_EQ(
      diagnose("2.1.2+rocm5.6\n" + failure, R"({"framework": "torch 2.1.2+rocm5.6"})").cause.id,
      "rocm-version-mismatch");
  EXPECT_NE(diagnose(failure, R"({"framework": "torch 2.3.0+rocm6.0"})").cause.id,
            "rocm-version-mismatch");
}

TEST(NearNeighbours, a_watchdog_reset_after_peer_transfers_is_theirs_and_one_after_a_fault_is_not) {
  const std::string peers = "ggml_cuda_p2p: peer access enabled 0<->1 0<->2\n";
  const std::string reset = "System Event: BMC: OS watchdog hard reset\n";
  EXPECT_EQ(diagnose(peers + reset, R"({"vendor": "AMD"})").cause.id, "rccl-p2p");
  EXPECT_NE(diagnose(reset, R"({"vendor": "AMD"})").cause.id, "rccl-p2p");
  EXPECT_NE(diagnose(peers +
                         "amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1, "
                         "emitted seq=2\n" +
                         reset,
                     R"({"vendor": "AMD"})")
                .cause.id,
            "rccl-p2p");
}

TEST(NearNeighbours, a_small_carve_out_limits_an_apu_and_not_a_card) {
  const std::string log =
      "llm_load_tensors: offloaded 35/35 layers to GPU\n"
      "CUDA error 2 at ggml-cuda.cu:5048: out of memory\n";
  EXPECT_EQ(
      diagnose(log, R"({"gpu": "Radeon 680M iGPU", "gfx": "gfx1035", "vram": "2 GB"})").cause.id,
      "uma-carveout-small");
  EXPECT_NE(
      diagnose(log, R"({"gpu": "Radeon RX 6700 XT", "gfx": "gfx1031", "vram": "2 GB"})").cause.id,
      "uma-carveout-small");
}

TEST(NearNeighbours, hipblaslt_without_a_kernel_is_an_option_and_another_blas_call_is_not) {
  const std::string head = "RuntimeError: CUDA error: HIPBLAS_STATUS_NOT_SUPPORTED when calling `";
  const std::string_view mi50 = R"({"vendor": "AMD", "gfx": "gfx906"})";
  EXPECT_EQ(diagnose(head + "HIPBLAS_STATUS_NOT_SUPPORTED`\n", mi50).cause.id,
            "unsupported-option");
  EXPECT_NE(diagnose(head + "hipblasGemmEx(handle)`\n", mi50).cause.id, "unsupported-option");
}

TEST(NearNeighbours, an_update_that_was_looked_up_behind_a_crash_may_be_its_reason) {
  const std::string crash = "SIGSEGV: segmentation violation\n";
  const std::string read = "$ grep upgraded /var/log/pacman.log | tail -1\n";
  const std::string change =
      "[2025-08-27T09:11:52-0700] [ALPM] upgraded rocm-core (6.4.1-1 -> 6.4.3-1)\n";
  EXPECT_EQ(diagnose(crash + read + change, R"({"vendor": "AMD"})").cause.id, "rocm-regression");
  EXPECT_NE(diagnose(crash + change, R"({"vendor": "AMD"})").cause.id, "rocm-regression");
  EXPECT_EQ(confidence_of(diagnose(read + change, R"({"vendor": "AMD"})"), "rocm-regression"), 0);
}

}  // namespace
}  // namespace headroom::findings
