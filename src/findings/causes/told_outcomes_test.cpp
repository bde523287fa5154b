// SPDX-License-Identifier: Apache-2.0
// What people tell of how it ended, weighed against what programs print: another kernel, another
// release, --privileged, or that it works all the same.
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::diagnose;

constexpr std::string_view amd = R"({"vendor": "AMD"})";

std::string cause_of(std::string_view log, std::string_view stated = amd) {
  return diagnose(log, stated).cause.id;
}

TEST(ToldOutcomes, a_kernel_that_ended_it_clears_the_firmware) {
  const std::string hang =
      "Krackan Point hangs (gfx1152) (MES:0x82), kernel 6.18\n"
      "amdgpu 0000:c3:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE\n";
  EXPECT_EQ(cause_of(hang), "firmware-bad");
  const auto mended = diagnose(hang + "With 6.19.9 there were no more freezes.\n", amd);
  EXPECT_EQ(mended.cause.id, "kernel-too-old");
  EXPECT_LT(mended.cause.confidence, 0.8);
}

TEST(ToldOutcomes, kernels_are_compared_by_what_is_said_of_them) {
  EXPECT_EQ(cause_of("Works on kernel 6.11.9. Crashes on kernel 6.12.4.\n"), "kernel-too-old");
  EXPECT_EQ(cause_of("[REGRESSION] the GPU hangs\nLast known good: v6.11\nFirst bad: v6.12\n"),
            "kernel-too-old");
}

TEST(ToldOutcomes, the_same_code_on_another_release_accuses_this_one) {
  const std::string crash = "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: code: 0x29\n";
  EXPECT_EQ(cause_of(crash), "gpu-hang");
  EXPECT_EQ(cause_of(crash + "With ROCm 6.1 the same script runs.\n"), "rocm-regression");
}

TEST(ToldOutcomes, a_package_that_was_put_back_accuses_the_newer_one) {
  const std::string told = "After the last dnf upgrade nothing on ROCm runs, before it did.\n";
  const std::string back =
      "sudo dnf downgrade \\\n"
      "https://koji.example.org/linux-firmware-20251111-1.fc43.noarch.rpm \\\n"
      "https://koji.example.org/amd-gpu-firmware-20251111-1.fc43.noarch.rpm\n\n";
  EXPECT_EQ(cause_of(told + back + "and now it goes again.\n"), "firmware-bad");
  EXPECT_NE(cause_of(told + back), "firmware-bad");
}

TEST(ToldOutcomes, lists_of_releases_with_their_outcome_are_compared) {
  EXPECT_EQ(cause_of("Since ROCm went to 2.10 clinfo segfaults.\n2.2 ... 2.9   fine\n"
                     "2.10, 3.0   Segmentation fault (core dumped)\n"),
            "rocm-regression");
}

TEST(ToldOutcomes, a_line_that_does_no_harm_is_no_failure) {
  const std::string line = "[2.7] amdgpu 0000:05:00.0: amdgpu: PCIE atomic ops is not supported\n";
  EXPECT_EQ(cause_of("ROCm seems to work fine even though this is printed\n" + line), "none");
  EXPECT_NE(cause_of("OpenCL still works, but HIP fails\n" + line), "none");
  const std::string window =
      "[4.3] amdgpu 0000:08:00.0: BAR 0: no space for [mem size 0x200000000 64bit pref]\n";
  const std::string placed =
      "[4.4] amdgpu 0000:08:00.0: BAR 0: assigned [mem 0x2fa0000000-0x2fafffffff 64bit pref]\n";
  const std::string up = "[4.5] [drm] Initialized amdgpu 3.40.0 20150101 for 0000:08:00.0\n";
  EXPECT_EQ(cause_of(window + placed + up), "none");
  EXPECT_NE(cause_of(window + placed), "none");
}

TEST(ToldOutcomes, rocminfo_without_lsmod_cannot_know_of_the_driver) {
  const std::string told = "When the --privileged option is not passed I get the same errors\n";
  const std::string loaded = "ROCk module is NOT loaded, possibly no GPU devices\n";
  EXPECT_EQ(cause_of(told + loaded), "driver-not-loaded");
  EXPECT_EQ(cause_of(told + "sh: 1: lsmod: not found\n" + loaded), "device-permission");
}

TEST(ToldOutcomes, one_buffer_beyond_vulkans_limit_is_no_lack_of_memory) {
  const std::string failed = "ggml_vulkan: Device memory allocation of size 4337916928 failed.\n";
  EXPECT_EQ(cause_of(failed), "job-too-big");
  EXPECT_EQ(cause_of(failed + "ggml_vulkan: Requested buffer size exceeds device memory allocation "
                              "limit: ErrorOutOfDeviceMemory\n"),
            "framework-bug");
}

TEST(ToldOutcomes, a_range_below_all_that_the_index_lists_is_the_requirements_fault) {
  const auto asked = [](std::string_view range) {
    return "ERROR: Could not find a version that satisfies the requirement torch" +
           std::string(range) + " (from versions: 2.4.0.dev20240407, 2.4.0.dev20240408)\n";
  };
  EXPECT_EQ(cause_of(asked("<2.4,>=2.3.0.dev1")), "app-bug");
  EXPECT_NE(cause_of(asked("<2.5,>=2.4.1")), "app-bug");
}

TEST(ToldOutcomes, an_index_beyond_the_vocabulary_hangs_the_gpu) {
  EXPECT_EQ(cause_of("Indices above the vocabulary size are passed to nn.Embedding\n"
                     "amdgpu 0000:2f:00.0: amdgpu: GPU reset begin!\n"),
            "app-bug");
}

TEST(ToldOutcomes, the_tag_of_an_image_names_a_release) {
  const std::string crash =
      "comfyui-1  | Memory access fault by GPU node-1 (Agent handle: 0x5) on address "
      "0x7f0e045b3000. "
      "Reason: Page not present or supervisor privilege.\n";
  constexpr std::string_view rocm7 = R"({"vendor": "AMD", "rocm": "7.0"})";
  EXPECT_EQ(cause_of(crash, rocm7), "gpu-hang");
  EXPECT_EQ(cause_of(crash + "With the tag someone/comfyui:rocm6 on this host it is rock solid.\n",
                     rocm7),
            "rocm-regression");
}

TEST(ToldOutcomes, a_release_that_begins_with_0_is_the_programs) {
  const std::string failed =
      "level=INFO msg=\"failure during GPU discovery\" OLLAMA_LIBRARY_PATH=\"[/usr/lib/ollama]\" "
      "error=\"runner crashed\"\n";
  const auto told =
      diagnose("0.12.5-rocm \"failure during GPU discovery\". It worked on 0.12.3-rocm\n" + failed,
               R"({"vendor": "AMD", "gfx": "gfx900"})");
  EXPECT_EQ(told.cause.id, "gfx-target-dropped");
}

TEST(ToldOutcomes, what_works_too_has_the_outcome_of_the_sentence_before) {
  const std::string crash = "ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=3\n";
  constexpr std::string_view used = R"({"vendor": "AMD", "kernel": "6.12.12"})";
  EXPECT_EQ(cause_of(crash + "My second box with kernel 6.14 answers. With 6.8 too.\n", used),
            "kernel-too-old");
}

TEST(ToldOutcomes, a_date_is_a_release_of_the_firmware) {
  const std::string told =
      "After linux-firmware 20250613 every ROCm job ends in a page fault:\n"
      "amdgpu 0000:c1:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:153 vmid:8 pasid:32770)\n";
  EXPECT_EQ(cause_of(told + "Back on 20250509 all is well.\n"), "firmware-bad");
}

TEST(ToldOutcomes, what_only_a_person_says_is_never_sure) {
  const auto told = diagnose("With ROCm 6.3 my job works, with ROCm 6.4 it crashes.\n", amd);
  EXPECT_EQ(told.cause.id, "rocm-regression");
  EXPECT_TRUE(told.cause.is_told);
}

}  // namespace
}  // namespace headroom::findings
