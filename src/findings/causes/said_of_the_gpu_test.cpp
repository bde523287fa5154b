// SPDX-License-Identifier: Apache-2.0
// What reports in prose tell of which GPU computes, of options, and of notices.
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

std::string reasons_of(const LogDiagnosis& diagnosis) {
  std::string all;
  for (const std::string& one : diagnosis.cause.reasons) all += one + "\n";
  return all;
}

// ------------------------------------------------------------------ igpu-selected

constexpr std::string_view card_and_desktop =
    R"({"vendor": "AMD", "gpu": "Radeon RX 7900 XTX", "gfx": "gfx1100", "cpu": "Ryzen 9 7950X"})";

TEST(ToldIgpu, that_is_named_beside_a_card_where_the_job_crashes) {
  const auto found = diagnose(
      "The server dies at its first prompt when the iGPU of the processor is there as well\n"
      "Segmentation fault (core dumped)\n",
      card_and_desktop);
  EXPECT_EQ(found.cause.id, "igpu-selected");
  EXPECT_LE(found.cause.confidence, 0.6);
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("HIP_VISIBLE_DEVICES")));
}

TEST(ToldIgpu, is_out_of_it_where_it_is_off_or_where_a_fault_tells_more) {
  const std::string crash = "Segmentation fault (core dumped)\n";
  EXPECT_NE(diagnose("The iGPU is disabled in the BIOS, and it still crashes for me\n" + crash,
                     card_and_desktop)
                .cause.id,
            "igpu-selected");
  EXPECT_NE(
      diagnose("The machine has an iGPU, too, and it crashes for me\n" + crash +
                   "Memory access fault by GPU node-1 (Agent handle: 0x5) on address 0x7f1.\n",
               card_and_desktop)
          .cause.id,
      "igpu-selected");
}

// A statement may name two GPUs in any order, and sets no variable.
TEST(ToldIgpu, two_stated_targets_are_no_override) {
  const auto found = diagnose(
      "My job fails\nSegmentation fault\n",
      R"({"vendor": "AMD", "gpu": "RX 7900 XTX and the iGPU", "gfx": "gfx1100, gfx1036"})");
  EXPECT_EQ(confidence_of(found, "gfx-override-wrong"), 0);
}

// ------------------------------------------------------------------ gpu-not-used

TEST(GpuNotUsed, where_a_person_sees_the_processor_at_work_and_nothing_says_why) {
  for (const char* told : {"The model answers, but there is zero GPU usage on my 7800 XT\n",
                           "My GPU load stays at 0 % while it writes on the RX 7800 XT\n",
                           "It heats the CPU up, but never the GPU, a Radeon RX 7800 XT\n"}) {
    const auto found = diagnose(told, amd);
    EXPECT_EQ(found.cause.id, "gpu-not-used") << told;
    EXPECT_LE(found.cause.confidence, 0.6);
  }
}

TEST(GpuNotUsed, gives_way_to_whatever_names_a_reason) {
  const std::string told = "There is no GPU utilization on my RX 7800 XT\n";
  EXPECT_EQ(
      diagnose(told + "Unable to open /dev/kfd read-write: Permission denied\n", amd).cause.id,
      "device-permission");
  EXPECT_EQ(diagnose(told + "OSError: [Errno 28] No space left on device\n", amd).cause.id,
            "disk-full");
  EXPECT_NE(diagnose(told, R"({"vendor": "NVIDIA"})").cause.id, "gpu-not-used");
}

// ------------------------------------------------------------------ none

TEST(Notices, a_report_about_a_harmless_line_is_of_nothing_that_fails) {
  const auto quoted = diagnose(
      "Since yesterday I see \"MIOpen(HIP): Warning [IsEnoughWorkspace] Solver <GemmFwdRest>, "
      "workspace required: 1, provided ptr: 0 size: 0\" in the log and wonder what this is\n",
      amd);
  EXPECT_EQ(quoted.cause.id, "none");
  EXPECT_LE(quoted.cause.confidence, 0.6);
  const auto titled = diagnose(
      "[Issue]: hipBlasLT failed, falling back to tensile\n"
      "I am using a Radeon and have this problem at each start of the program\n"
      "rocBLAS warning: hipBlasLT failed, falling back to tensile.\n",
      R"({"vendor": "AMD", "gfx": "gfx1103", "env": "HSA_OVERRIDE_GFX_VERSION=11.0.0"})");
  EXPECT_EQ(titled.cause.id, "none");
}

TEST(Notices, a_report_that_tells_of_worse_is_not_cleared_by_them) {
  const std::string title =
      "[Issue]: hipBlasLT failed, falling back to tensile\n"
      "rocBLAS warning: hipBlasLT failed, falling back to tensile.\n";
  EXPECT_NE(
      diagnose(title + "After this the screen freezes and I have to press reset\n", amd).cause.id,
      "none");
  EXPECT_NE(
      diagnose(title + "The pictures are all garbage since I have the new card\n", amd).cause.id,
      "none");
}

// ------------------------------------------------------------------ framework-bug

TEST(SaidOptions, one_that_changes_nothing_is_the_programs_mistake) {
  for (const char* told :
       {"The command line option --gpu-index has no effect, and I cannot get it to take card 2\n",
        "It does not matter what I pass to --device-id, the problem is that card 0 is taken\n",
        "The argument `--main-gpu` seems to be silently ignored, which is a problem with two "
        "cards\n"}) {
    EXPECT_EQ(diagnose(told, amd).cause.id, "framework-bug") << told;
  }
  // A variable is no option of the program, and a compiler's remark is nobody's complaint.
  EXPECT_NE(diagnose("HSA_OVERRIDE_GFX_VERSION has no effect here, it is the same problem\n", amd)
                .cause.id,
            "framework-bug");
}

TEST(Batching, must_not_change_a_result) {
  const std::string small =
      "$ ./llama-perplexity -m q.gguf -f wiki.raw \\\n    -b 64 -ngl 99\n"
      "Final estimate: PPL = 911.2000 +/- 9.1\n";
  const std::string large =
      "$ ./llama-perplexity -m q.gguf -f wiki.raw \\\n    -b 512 -ngl 99\n"
      "Final estimate: PPL = 8.1000 +/- 0.1\n";
  const auto found = diagnose(small + large, amd);
  EXPECT_EQ(found.cause.id, "framework-bug");
  EXPECT_THAT(found.cause.title, HasSubstr("-b 64"));
  EXPECT_THAT(found.cause.title, HasSubstr("-b 512"));
  // Another model has another perplexity, and rounding changes it a little.
  const std::string other =
      "$ ./llama-perplexity -m r.gguf -f wiki.raw \\\n    -b 512 -ngl 99\n"
      "Final estimate: PPL = 8.1000 +/- 0.1\n";
  EXPECT_NE(diagnose(small + other, amd).cause.id, "framework-bug");
  const std::string near =
      "$ ./llama-perplexity -m q.gguf -f wiki.raw \\\n    -b 64 -ngl 99\n"
      "Final estimate: PPL = 8.1300 +/- 0.1\n";
  EXPECT_NE(diagnose(near + large, amd).cause.id, "framework-bug");
}

TEST(WrongNumbers, on_a_target_are_not_missing_code_for_it) {
  const auto found = diagnose(
      "HIP on gfx1102: the embeddings are wrong, which is not a crash but a problem\n", amd);
  EXPECT_EQ(found.cause.id, "framework-bug");
}

TEST(OtherBuilds, that_take_the_same_gpu_show_that_a_refusal_is_the_builds_own) {
  const std::string refusal =
      "RuntimeError: Attempting to use hipBLASLt on a unsupported architecture!\n";
  EXPECT_EQ(diagnose(refusal, amd).cause.id, "unsupported-option");
  const auto found =
      diagnose(refusal +
                   "I get it with the nightly of torch that I installed this morning\n"
                   "I went back to these and tried them on the same machine\n"
                   "torch==2.9.0.dev20250601+rocm6.4\n"
                   "torch==2.9.0.dev20250611+rocm6.4\n"
                   "They all work.\n",
               amd);
  EXPECT_EQ(found.cause.id, "framework-bug");
  EXPECT_GT(confidence_of(found, "unsupported-option"), 0);
}

TEST(ToldReleases, going_to_a_menu_is_no_change_of_a_release) {
  EXPECT_NE(
      diagnose("ComfyUI failed and went to the start page, which is a problem\n", amd).cause.id,
      "framework-bug");
}

// ------------------------------------------------------------------ limits beside memory

TEST(TinyRequests, that_fail_beside_much_free_memory_are_about_no_amount) {
  const auto found = diagnose(
      "It says that memory is out although most of the GPU memory is free\n"
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 4.00 MiB. GPU 0 has a total "
      "capacity of 191.98 GiB of which 150.20 GiB is free. Of the allocated memory 30.00 GiB is "
      "allocated by PyTorch, and 2.00 GiB is reserved by PyTorch but unallocated.\n",
      amd);
  EXPECT_EQ(found.cause.id, "insufficient-evidence");
  EXPECT_THAT(reasons_of(found), HasSubstr("vm.max_map_count"));
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("/proc/PID/maps")));
}

TEST(Attachments, hold_what_a_guess_would_only_guess) {
  const std::string told =
      "After dkms was rebuilt rocminfo does not find the card, and I cannot say why\n";
  EXPECT_EQ(diagnose(told, amd).cause.id, "driver-not-loaded");
  const auto found =
      diagnose(told + "[kern-log.txt](https://tracker.example/files/12/kern-log.txt)\n", amd);
  EXPECT_EQ(found.cause.id, "insufficient-evidence");
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("attached file")));
}

TEST(TwoTotals, that_shrink_to_what_a_bios_sets_aside_are_the_carve_out) {
  const auto start = [](const char* total) {
    return std::string(
               "time=2025-09-01T10:00:00Z level=INFO source=types.go:42 msg=\"inference compute\" "
               "id=0 library=ROCm compute=gfx1103 name=ROCm0 description=\"AMD Radeon 780M\" "
               "type=iGPU total=\"") +
           total + "\" available=\"" + total + "\"\n";
  };
  constexpr std::string_view apu = R"({"vendor": "AMD", "gpu": "Radeon 780M", "gfx": "gfx1103"})";
  EXPECT_EQ(diagnose(start("48.0 GiB") + start("1.0 GiB") + "Loading fails since the update\n", apu)
                .cause.id,
            "uma-carveout-small");
  EXPECT_EQ(
      diagnose(start("48.0 GiB") + start("23.4 GiB") + "Loading fails since the update\n", apu)
          .cause.id,
      "free-memory-misreported");
}

TEST(SaidFunctions, of_hip_that_do_not_do_their_work_are_rocms) {
  EXPECT_EQ(
      diagnose("With ROCm 6.1, calling `hipFreeAsync` never returns the memory to the pool\n", amd)
          .cause.id,
      "rocm-regression");
}

TEST(SaidFigures, of_two_sources_that_differ_are_a_misreport) {
  EXPECT_EQ(
      diagnose("The used memory shown in nvtop does not match what hipMemGetInfo tells me\n", amd)
          .cause.id,
      "free-memory-misreported");
}

// ------------------------------------------------------------------ access

TEST(SaidAccess, root_may_be_written_with_marks) {
  const std::string failed =
      "hsa api call failure at: /src/rocminfo.cc:1102\n"
      "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate\n";
  EXPECT_EQ(diagnose(failed + "As _root_ the tool runs well\n", amd).cause.id, "device-permission");
  EXPECT_EQ(diagnose(failed + "*sudo rocminfo* lists the card\n", amd).cause.id,
            "device-permission");
}

TEST(SaidAccess, membership_in_video_alone_may_be_too_little) {
  const std::string failed =
      "hsa api call failure at: /src/rocminfo.cc:1102\n"
      "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate\n";
  const auto found = diagnose("ada is member of video group\n" + failed, amd);
  EXPECT_EQ(found.cause.id, "device-permission");
  EXPECT_LE(found.cause.confidence, 0.6);
  EXPECT_EQ(diagnose("ada is member of render group\n" + failed, amd).cause.id,
            "insufficient-evidence");
}

TEST(SaidAccess, counting_devices_takes_no_index) {
  const auto found = diagnose(
      "hipErrorInvalidDevice (Triggered internally at ../c10/hip/HIPFunctions.cpp:99.)\n"
      "UserWarning: HIP initialization: Unexpected error from hipGetDeviceCount(). Error 101: "
      "hipErrorInvalidDevice (Triggered internally at ../c10/hip/HIPFunctions.cpp:99.)\n",
      amd);
  EXPECT_NE(found.cause.id, "device-index");
}

TEST(SaidAccess, a_node_that_is_passed_and_missing_is_missing_on_the_host) {
  const std::string run =
      "$ docker run --rm --device=/dev/kfd --device=/dev/dri rocm/pytorch rocminfo\n";
  const std::string absent = "/dev/kfd does not exist\n";
  EXPECT_EQ(diagnose(run + absent, amd).cause.id, "host-without-kfd");
  const std::string without = "$ docker run --rm --device=/dev/dri rocm/pytorch rocminfo\n";
  EXPECT_EQ(diagnose(without + absent, amd).cause.id, "kfd-not-passed");
}

TEST(SaidAccess, rocminfo_that_works_in_wsl_accuses_the_wheels_runtime) {
  const std::string none =
      "In WSL my script finds no card.\n"
      ":3:hip_device_runtime.cpp   :637 : 99d us:  hipGetDeviceCount: Returned hipErrorNoDevice "
      ":\n";
  EXPECT_EQ(diagnose("The tool rocminfo shows the GPU as it should\n" + none, amd).cause.id,
            "rocm-version-mismatch");
  EXPECT_EQ(diagnose("The tool rocminfo does not show the GPU as it should\n" + none, amd).cause.id,
            "host-without-kfd");
}

}  // namespace
}  // namespace headroom::findings
