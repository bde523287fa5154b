// SPDX-License-Identifier: Apache-2.0
// Memory, devices and back-ends as people tell of them where no line of a program does, and lines
// of programs that only a few of them print. Each row is the whole of what is known.
#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;

constexpr std::string_view amd = R"({"vendor": "AMD"})";

struct Told {
  std::string_view log, cause;
};

void expect_causes(std::initializer_list<Told> rows, std::string_view stated = amd) {
  for (const Told& one : rows) {
    const auto got = diagnose(one.log, stated);
    EXPECT_EQ(got.cause.id, one.cause) << one.log;
    EXPECT_LT(got.cause.confidence, 0.8) << one.log;
  }
}

TEST(ToldMemory, memory_that_stays_or_is_miscounted) {
  expect_causes({
      {"The VRAM is not freed, even after the test exits.\n", "vram-orphaned"},
      {"GPU memory is still used after Ctrl-C, only a reboot frees the VRAM\n", "vram-orphaned"},
      {"USED_VRAM does not update when memory is allocated or freed\n", "free-memory-misreported"},
      {"Tools sum these to report 132 GiB of available memory\n", "free-memory-misreported"},
      {"The HIP runtime still reports only the VRAM aperture\n", "uma-carveout-small"},
      {"gttsize is ignored, VRAM: 512 MiB is all there is\n", "uma-carveout-small"},
      {"I always get half of my RAM for GTT\n", "ttm-cap"},
      {"Another process was using the VRAM, a forgotten server.\n", "vram-held-by-other"},
      {"It crashes with hipMallocManaged; it hangs without HSA_XNACK=1\n", "managed-memory"},
  });
}

TEST(ToldMemory, devices_and_back_ends) {
  expect_causes({
      {"RuntimeError: No HIP GPUs are available\nsudo usermod -a -G render me\nIt really worked\n",
       "device-permission"},
      {"it fails: the group ids inside and outside do not match\n", "device-permission"},
      {"It fails: /dev/kfd is not always added to the container automatically\n", "kfd-not-passed"},
      {"It fails: the onnxruntime package lacks the ROCm execution provider\n",
       "backend-unavailable"},
      {"It hangs, and disabling flash attention fixed it\n", "unsupported-option"},
      {"a.cu:4:10: fatal error: 'hipcub/util.hpp' file not found\n", "missing-library"},
  });
}

TEST(ToldMemory, one_remark_does_not_blame_a_healthy_run) {
  const auto done =
      diagnose("step 10/10 loss=0.31\nTraining completed\nhalf of my RAM is GTT\n", amd);
  EXPECT_EQ(done.cause.id, "none");
}

TEST(ToldMemory, what_trouble_is_about_decides_only_where_nothing_else_does) {
  const std::string_view told = "It fails with the largest batch, and always out of memory.\n";
  const auto got = diagnose(told, amd);
  EXPECT_EQ(got.cause.id, "job-too-big");
  EXPECT_LT(got.cause.confidence, 0.45);
  EXPECT_EQ(diagnose("out of memory is what the manual's chapter explains\n", amd).cause.id,
            "insufficient-evidence");
  const std::string full = "OSError: [Errno 28] No space left on device\n";
  EXPECT_EQ(diagnose(full + std::string(told), amd).cause.id, "disk-full");
}

TEST(ToldMemory, advice_that_did_not_help_stays_a_guess) {
  const auto got = diagnose(
      "RuntimeError: No HIP GPUs are available\nsudo usermod -aG render me   # no change\n", amd);
  EXPECT_LT(confidence_of(got, "device-permission"), 0.5);
}

TEST(ToldMemory, gpu_of_half_a_gibibyte_is_an_integrated_one) {
  const auto got = diagnose(
      "HIP out of memory. Tried to allocate 90.00 MiB. GPU 0 has a total capacity of 512.00 MiB of "
      "which 16.00 MiB is free. Of the allocated memory 204.22 MiB is allocated by PyTorch, and "
      "177.78 MiB is reserved by PyTorch but unallocated.\n",
      amd);
  EXPECT_EQ(got.cause.id, "uma-carveout-small");
}

TEST(ToldMemory, system_memory_beside_an_idle_carve_out_is_limited_by_ttm) {
  const auto got = diagnose(
      "HIP out of memory. Tried to allocate 16.00 GiB. GPU 0 has a total capacity of 15.24 GiB of "
      "which 15.09 GiB is free. Of the allocated memory 0 bytes is allocated by PyTorch, and 0 "
      "bytes is reserved by PyTorch but unallocated.\n"
      "[drm] amdgpu: 98304M of VRAM memory ready\n",
      R"({"vendor": "AMD", "gfx": "gfx1151"})");
  EXPECT_EQ(got.cause.id, "ttm-cap");
  EXPECT_GE(confidence_of(got, "kernel-too-old"), 0.3);
}

TEST(ToldMemory, queue_that_ended_tells_what_was_free) {
  const std::string_view ended =
      ":0:rocdevice.cpp :3006: Queue 0x7f aborting with error : HSA_STATUS_ERROR_OUT_OF_RESOURCES: "
      "no resources. code: 0x1008 Available Free mem : ";
  EXPECT_EQ(diagnose(std::string(ended) + "0 MB\n", amd).cause.id, "job-too-big");
  EXPECT_NE(diagnose(std::string(ended) + "20000 MB\n", amd).cause.id, "job-too-big");
}

TEST(ToldMemory, names_of_other_vendors_cards_tell_only_where_nothing_speaks_of_amd) {
  const std::string_view full =
      "ValueError: No available memory for the cache blocks. It runs on an H100.\n";
  EXPECT_EQ(diagnose(full).cause.id, "not-amd-gpu");
  EXPECT_EQ(diagnose(std::string(full) + "GPU: AMD Instinct MI300X\n").cause.id, "job-too-big");
  EXPECT_EQ(diagnose("Free memory on device xpu:0 (0.22/30.3 GiB) on startup is less than desired "
                     "GPU memory utilization (0.7, 21.21 GiB).\n")
                .cause.id,
            "not-amd-gpu");
}

}  // namespace
}  // namespace headroom::findings
