// SPDX-License-Identifier: Apache-2.0
// The causes about which GPU it is: a chip or a kernel that will not do, an integrated one in the
// way, an index that is none.
#include <gmock/gmock.h>

#include "findings/causes/causes.h"
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using ::testing::Contains;
using testing::diagnose;
using ::testing::HasSubstr;

std::string evidence_of(const LogDiagnosis& diagnosis) {
  std::string all;
  for (const Evidence& one : diagnosis.cause.evidence) all += one.text + "\n";
  return all;
}

constexpr std::string_view amd = R"({"vendor": "AMD"})";

// ------------------------------------------------------------------ gpu-unsupported

TEST(GpuUnsupported, a_refusal_by_name_explains_the_lack_of_memory) {
  const auto found = diagnose(
      "ROCk module is loaded\n"
      "Unable to open /dev/kfd read-write: Cannot allocate memory\n"
      "[    4.9] kfd kfd: amdgpu: TAHITI  not supported in kfd\n");
  EXPECT_EQ(found.cause.id, "gpu-unsupported");
  EXPECT_EQ(found.verdict, Verdict::unsuitable);
  EXPECT_GE(found.cause.confidence, 0.9);
}

TEST(GpuUnsupported, an_older_wording_and_a_card_by_its_name) {
  EXPECT_EQ(diagnose("[    1.1] kfd2kgd: kfd not supported on this ASIC\n", amd).cause.id,
            "gpu-unsupported");
  EXPECT_EQ(diagnose("01:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] "
                     "Cape Verde XT [Radeon HD 7770/8760 / R7 250X]\n"
                     "RuntimeError: No HIP GPUs are available\n")
                .cause.id,
            "gpu-unsupported");
}

TEST(GpuUnsupported, an_unlisted_apu_whose_runtime_dies_again_and_again) {
  const std::string death =
      "Memory critical error by agent node-0 (Agent handle: 0x7f1) on address 0x7f2. Reason: "
      "Memory "
      "in use.\n"
      "[01/02/26 10:00:00] ERROR    Worker (pid:7) was sent code 134!\n"
      "[01/02/26 10:00:00] INFO     Booting worker with pid: 9\n";
  const auto found = diagnose(death + death, R"({"vendor": "AMD", "gfx": "gfx90c"})");
  EXPECT_EQ(found.cause.id, "gpu-unsupported");
  EXPECT_LE(found.cause.confidence, 0.7);
  ASSERT_FALSE(found.consequences.empty());
  EXPECT_EQ(found.consequences.front().id, "crash-loop");
  EXPECT_THAT(texts_of(found.cause.fix), ::testing::Contains(::testing::HasSubstr("=9.0.0")));
  // On a supported card it is the loop alone.
  EXPECT_EQ(diagnose(death + death, R"({"vendor": "AMD", "gfx": "gfx1100"})").cause.id,
            "crash-loop");
}

TEST(GpuUnsupported, a_supported_card_that_is_not_seen_is_not_it) {
  const auto found = diagnose("RuntimeError: No HIP GPUs are available\n",
                              R"({"vendor": "AMD", "gpu": "Radeon RX 7900 XTX"})");
  EXPECT_EQ(confidence_of(found, "gpu-unsupported"), 0);
}

// ------------------------------------------------------------------ kernel-too-old

TEST(KernelTooOld, kfd_does_not_know_the_graphics_version) {
  const auto found = diagnose("[    5.1] kfd kfd: amdgpu: GC IP 0b0501  not supported in kfd\n");
  EXPECT_EQ(found.cause.id, "kernel-too-old");
  EXPECT_THAT(found.cause.title, HasSubstr("gfx1151"));
}

TEST(KernelTooOld, the_runtime_asks_for_a_newer_driver) {
  EXPECT_EQ(diagnose("HSA Error:  Incompatible kernel and userspace, Vega 20 disabled. Upgrade "
                     "amdgpu.\n")
                .cause.id,
            "kernel-too-old");
}

TEST(KernelTooOld, a_card_that_is_younger_than_the_kernel) {
  const auto found = diagnose(
      "$ uname -r\n6.8.0-51-generic\n$ rocminfo\n"
      "ROCk module is NOT loaded, possibly no GPU devices\n",
      R"({"vendor": "AMD", "gpu": "Radeon RX 9070 XT"})");
  EXPECT_EQ(found.cause.id, "kernel-too-old");
  EXPECT_LT(found.cause.confidence, 0.8);
}

constexpr std::string_view small_pool =
    "  Name:                    gfx1103\n"
    "  Device Type:             GPU\n"
    "      Size:                    8062036(0x7b0454) KB\n";

TEST(KernelTooOld, a_carve_out_that_6_12_ignores) {
  const auto found =
      diagnose(small_pool, R"({"vendor": "AMD", "gfx": "gfx1103", "kernel": "6.12.9-arch1-1",
                               "vram": "16 GB carve-out"})");
  EXPECT_EQ(found.cause.id, "kernel-too-old");
  EXPECT_THAT(found.cause.title, HasSubstr("16.00 GiB"));
}

TEST(KernelTooOld, a_later_kernel_is_not_blamed_for_the_same_sizes) {
  const auto found =
      diagnose(small_pool, R"({"vendor": "AMD", "gfx": "gfx1103", "kernel": "6.17.1-arch1-1",
                               "vram": "16 GB carve-out"})");
  EXPECT_EQ(confidence_of(found, "kernel-too-old"), 0);
}

TEST(DeviceIndex, the_first_device_is_no_index_beyond_what_there_is) {
  constexpr std::string_view refused =
      "x = torch.ones(2, device=\"cuda:0\")\nAssertionError: Invalid device id\n";
  EXPECT_LE(confidence_of(diagnose(refused, amd), "device-index"), 0.4);
}

// ------------------------------------------------------------------ igpu-selected

constexpr std::string_view two_devices =
    "ggml_cuda_init: found 2 ROCm devices:\n"
    "  Device 0: AMD Radeon Graphics, gfx1036 (0x1036), VMM: no, Wave Size: 32\n"
    "  Device 1: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32\n";

TEST(IgpuSelected, the_library_has_no_code_for_the_integrated_one) {
  const auto found = diagnose(
      std::string(two_devices) +
      "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: No such file "
      "or directory for GPU arch : gfx1036\n");
  EXPECT_EQ(found.cause.id, "igpu-selected");
  EXPECT_GE(found.cause.confidence, 0.9);
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("HIP_VISIBLE_DEVICES=1")));
}

TEST(IgpuSelected, the_card_itself_lacking_code_is_another_cause) {
  const auto found = diagnose(
      std::string(two_devices) +
      "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: No such file "
      "or directory for GPU arch : gfx1100\n");
  EXPECT_EQ(found.cause.id, "gfx-target-missing");
  EXPECT_LT(confidence_of(found, "igpu-selected"), 0.5);
}

TEST(IgpuSelected, one_that_is_hidden_is_not_it) {
  const auto found = diagnose("export HIP_VISIBLE_DEVICES=1\n" + std::string(two_devices) +
                              "RuntimeError: HIP error: invalid device function\n");
  EXPECT_EQ(confidence_of(found, "igpu-selected"), 0);
}

TEST(IgpuSelected, less_than_a_gibibyte_is_no_cards_memory) {
  const auto found = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total "
      "capacity of 512.00 MiB of which 0 bytes is free.\n",
      R"({"vendor": "AMD", "gfx": "gfx1200, gfx1036"})");
  EXPECT_EQ(found.cause.id, "igpu-selected");
  EXPECT_EQ(confidence_of(diagnose("GPU 0 has a total capacity of 15.92 GiB\n",
                                   R"({"vendor": "AMD", "gfx": "gfx1200, gfx1036"})"),
                          "igpu-selected"),
            0);
}

TEST(IgpuSelected, a_crash_beside_an_integrated_gpu_is_a_guess) {
  const auto found = diagnose("Segmentation fault (core dumped)\n",
                              R"({"vendor": "AMD", "gfx": "gfx1201, gfx1036"})");
  EXPECT_LT(confidence_of(found, "igpu-selected"), 0.5);
}

// ------------------------------------------------------------------ device-index

TEST(DeviceIndex, the_assertion_gives_both_numbers) {
  const auto found = diagnose(
      "RuntimeError: device >= 0 && device < num_gpus INTERNAL ASSERT FAILED at "
      "\"../aten/src/ATen/hip/HIPContext.cpp\":49, please report a bug to PyTorch. device=3, "
      "num_gpus=2\n",
      amd);
  EXPECT_EQ(found.cause.id, "device-index");
  EXPECT_GE(found.cause.confidence, 0.9);
  EXPECT_THAT(found.cause.title, HasSubstr("device 3, but 2 devices"));
}

TEST(DeviceIndex, a_mask_renumbers) {
  const auto found = diagnose(
      "$ HIP_VISIBLE_DEVICES=2 python train.py --device cuda:2\n"
      "RuntimeError: HIP error: invalid device ordinal\n");
  EXPECT_EQ(found.cause.id, "device-index");
  EXPECT_GE(found.cause.confidence, 0.9);
}

TEST(DeviceIndex, two_masks_leave_none) {
  const auto found = diagnose(
      "export ROCR_VISIBLE_DEVICES=1\nexport HIP_VISIBLE_DEVICES=1\n"
      "RuntimeError: No HIP GPUs are available\n");
  EXPECT_EQ(found.cause.id, "device-index");
  EXPECT_THAT(evidence_of(found), HasSubstr("ROCR_VISIBLE_DEVICES"));
}

TEST(DeviceIndex, an_empty_mask_hides_all) {
  EXPECT_EQ(
      diagnose("$ HIP_VISIBLE_DEVICES= python run.py\nRuntimeError: No HIP GPUs are available\n")
          .cause.id,
      "device-index");
}

TEST(DeviceIndex, a_mask_that_leaves_the_first_is_not_it) {
  const auto found =
      diagnose("export HIP_VISIBLE_DEVICES=0\nRuntimeError: No HIP GPUs are available\n", amd);
  EXPECT_EQ(confidence_of(found, "device-index"), 0);
}

// ------------------------------------------------------------------ igpu-selected

constexpr std::string_view card_and_processor =
    "ggml_cuda_init: found 2 ROCm devices (Total VRAM: 48000 MiB):\n"
    "  Device 0: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32, VRAM: 24560 "
    "MiB\n"
    "  Device 1: AMD Radeon Graphics, gfx1036 (0x1036), VMM: no, Wave Size: 32, VRAM: 15800 MiB\n"
    "load_tensors: offloaded 33/33 layers to GPU\nSegmentation fault (core dumped)\n";

TEST(IgpuSelected, llama_cpp_spreads_a_model_over_every_device_that_it_counts) {
  EXPECT_EQ(diagnose(card_and_processor).cause.id, "igpu-selected");
}

TEST(IgpuSelected, unless_the_devices_are_chosen) {
  const std::string chosen =
      "$ llama-server -m m.gguf -dev ROCm0\n" + std::string(card_and_processor);
  EXPECT_NE(diagnose(chosen).cause.id, "igpu-selected");
}

// ------------------------------------------------------------------ who explains whom

TEST(Access, a_slot_without_atomics_explains_that_no_gpu_is_seen) {
  const auto found = diagnose(
      "RuntimeError: No HIP GPUs are available\n"
      "[    4.1] kfd kfd: skipped device 1002:699f, PCI rejects atomics\n");
  EXPECT_EQ(found.cause.id, "pcie-atomics");
  EXPECT_EQ(confidence_of(found, "device-permission"), 0);
}

TEST(IgpuSelected, a_card_without_a_name_of_its_own_is_told_by_its_target) {
  const std::string devices =
      "  Device 0: AMD Radeon Graphics, gfx908:sramecc+:xnack- (0x908), VMM: no, Wave Size: 64\n"
      "  Device 1: AMD Instinct MI100, gfx908:sramecc+:xnack- (0x908), VMM: no, Wave Size: 64\n";
  const std::string fault =
      "Memory access fault by GPU node-1 (Agent handle: 0x5c1) on address 0x7f0e. Reason: Page not "
      "present or supervisor privilege.\n";
  EXPECT_EQ(confidence_of(diagnose(devices + fault, amd), "igpu-selected"), 0);
  const std::string with_apu =
      "  Device 0: AMD Radeon Graphics, gfx1036 (0x1036), VMM: no, Wave Size: 32\n"
      "  Device 1: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32\n";
  EXPECT_GT(confidence_of(diagnose(with_apu + fault, amd), "igpu-selected"), 0);
}

TEST(GpuUnsupported, kfd_refuses_a_listed_card_for_another_reason) {
  const std::string refused =
      "ROCk module is loaded\n"
      "Unable to open /dev/kfd read-write: Cannot allocate memory\n";
  EXPECT_EQ(diagnose(refused, R"({"vendor": "AMD", "gfx": "gfx90a"})").cause.id,
            "insufficient-evidence");
  EXPECT_EQ(diagnose(refused, amd).cause.id, "gpu-unsupported");
}

TEST(GpuUnsupported, a_kernel_for_matrix_cores_on_a_card_without_them) {
  const std::string refused =
      "RuntimeError: DeviceBatchedGemmSoftmaxGemmPermute_Xdl_CShuffle<256, 128, 64> does not "
      "support this problem\n";
  const auto found = diagnose(refused, R"({"vendor": "AMD", "gfx": "gfx1030"})");
  EXPECT_EQ(found.cause.id, "gpu-unsupported");
  EXPECT_THAT(found.cause.reasons.front(), HasSubstr("Xdl"));
  EXPECT_NE(diagnose(refused, R"({"vendor": "AMD", "gfx": "gfx90a"})").cause.id, "gpu-unsupported");
}

TEST(GpuUnsupported, ollama_passes_over_a_card_from_before_gfx900) {
  const auto log = [](std::string_view gfx) {
    return "level=INFO source=amd_linux.go:88 msg=\"detected amdgpu versions [" + std::string(gfx) +
           "]\"\nlevel=INFO source=routes.go:1164 msg=\"no GPU detected\"\n";
  };
  EXPECT_EQ(diagnose(log("gfx803"), amd).cause.id, "gpu-unsupported");
  EXPECT_NE(diagnose(log("gfx1030"), amd).cause.id, "gpu-unsupported");
}

TEST(DeviceIndex, counting_the_devices_takes_no_index) {
  const std::string warning =
      "UserWarning: HIP initialization: Unexpected error from hipGetDeviceCount(). Did you run\n"
      "some cuda functions before calling NumHipDevices() that might have already set an error?\n"
      "Error 101: hipErrorInvalidDevice (Triggered internally at "
      "../c10/hip/HIPFunctions.cpp:110.)\n";
  EXPECT_NE(diagnose(warning, amd).cause.id, "device-index");
  EXPECT_EQ(
      diagnose("RuntimeError: HIP error: hipErrorInvalidDevice: invalid device ordinal\n", amd)
          .cause.id,
      "device-index");
}

}  // namespace
}  // namespace headroom::findings
