// SPDX-License-Identifier: Apache-2.0
// What programs print of their builds, of the GPU and of its memory, and what only looks like it.
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::diagnose;

constexpr std::string_view amd = R"({"vendor": "AMD", "gpu": "RX 7900 XTX", "gfx": "gfx1100"})";
constexpr std::string_view apu = R"({"vendor": "AMD", "gpu": "Radeon 8060S", "gfx": "gfx1151"})";

std::string cause_of(std::string_view log, std::string_view stated = amd) {
  return diagnose(log, stated).cause.id;
}

TEST(ProgramTexts, an_ollama_without_a_runner_for_rocm_cannot_use_the_gpu_that_it_found) {
  const std::string found =
      "level=INFO source=amd_linux.go:389 msg=\"amdgpu is supported\" gpu=GPU-1 gpu_type=gfx1100\n";
  const std::string cpu =
      "level=INFO source=routes.go:1267 msg=\"Dynamic LLM libraries\" runners=[cpu]\n";
  const std::string both =
      "level=INFO source=routes.go:1267 msg=\"Dynamic LLM libraries\" runners=\"[rocm cpu]\"\n";
  EXPECT_EQ(cause_of(cpu + found), "backend-unavailable");
  EXPECT_NE(cause_of(both + found), "backend-unavailable");
  EXPECT_NE(cause_of(cpu), "backend-unavailable");
}

TEST(ProgramTexts, an_ollama_that_finds_its_gpu_is_healthy) {
  const std::string start =
      "level=INFO source=types.go:42 msg=\"inference compute\" id=0 library=ROCm compute=gfx1103 "
      "name=ROCm0 total=\"24.0 GiB\" available=\"23.6 GiB\"\n";
  EXPECT_EQ(cause_of(start), "none");
  EXPECT_EQ(
      cause_of(
          "Couldn't find '/usr/share/ollama/.ollama/id_ed25519'. Generating new private key.\n" +
          start),
      "none");
  EXPECT_NE(cause_of(start + "The model does not start.\n"), "none");
}

TEST(ProgramTexts, apt_mixes_the_distributions_packages_with_amds) {
  const auto unmet = [](std::string_view there) {
    return " rocm-hip-runtime : Depends: rocminfo (= 1.0.0.50400-72~22.04) but " +
           std::string(there) + " is to be installed\n" +
           "E: Unable to correct problems, you have held broken packages.\n";
  };
  EXPECT_EQ(cause_of(unmet("5.0.0-1")), "rocm-version-mismatch");
  EXPECT_NE(cause_of(unmet("1.0.0.50400-72~22.04")), "rocm-version-mismatch");
}

TEST(ProgramTexts, the_kernel_in_flight_names_the_library_at_fault) {
  const std::string fault =
      "Callback: Queue 0x7ee7 aborting with error : HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: "
      "The agent attempted to access memory beyond the largest legal address. code: 0x29\n";
  EXPECT_EQ(cause_of(fault + "Kernel Name: _ZN5aiter50fmoe_bf16_blockscaleFp8E\n"),
            "framework-bug");
  EXPECT_NE(cause_of(fault + "Kernel Name: my_own_kernel\n"), "framework-bug");
}

TEST(ProgramTexts, a_build_whose_list_lacks_the_target_makes_no_code_for_it) {
  const std::string failed = "[ERROR] Encountered HIP error: hipErrorInvalidDeviceFunction\n";
  const auto list = [](std::string_view last) {
    return "$ sed -n 14,20p CMakeLists.txt\nset(DEFAULT_GPUS\n      gfx906\n      gfx90a\n      " +
           std::string(last) + ")\n$ \n";
  };
  constexpr std::string_view newer = R"({"vendor": "AMD", "gfx": "gfx950"})";
  EXPECT_EQ(cause_of(failed + list("gfx942"), newer), "gfx-target-missing");
  EXPECT_TRUE(diagnose(failed + list("gfx942"), newer).cause.title.find("gfx950") !=
              std::string::npos);
}

TEST(ProgramTexts, an_apus_free_memory_that_equals_the_hosts_is_the_hosts) {
  const std::string host =
      "level=INFO source=sched.go:613 msg=\"system memory\" total=\"30.5 GiB\" free=\"23.1 GiB\" "
      "free_swap=\"7.1 GiB\"\n";
  const auto device = [](std::string_view free) {
    return "cmn  common_param:   - ROCm0   : Radeon 8060S Graphics (98304 MiB, " +
           std::string(free) + " MiB free)\n";
  };
  EXPECT_EQ(cause_of(host + device("23704"), apu), "free-memory-misreported");
  EXPECT_NE(cause_of(host + device("95000"), apu), "free-memory-misreported");
}

TEST(ProgramTexts, a_kernel_before_6_0_cannot_say_what_is_free) {
  const std::string refused =
      "Error: llama runner process has terminated: error:invalid argument\n"
      "  current device: 0, in function ggml_backend_cuda_device_get_memory at ggml-cuda.cu:2902\n";
  constexpr std::string_view old = R"({"vendor": "AMD", "kernel": "5.15.0-160-generic"})";
  constexpr std::string_view newer = R"({"vendor": "AMD", "kernel": "6.8.0-45-generic"})";
  EXPECT_EQ(cause_of(refused, old), "kernel-too-old");
  EXPECT_NE(cause_of(refused, newer), "kernel-too-old");
}

TEST(ProgramTexts, a_card_that_its_own_bios_cannot_start_is_not_the_drivers_fault) {
  const std::string gave_up = "amdgpu 0000:67:00.0: Fatal error during GPU init\n";
  EXPECT_EQ(cause_of(gave_up), "driver-not-loaded");
  EXPECT_EQ(cause_of("[drm:atom_op_jump [amdgpu]] *ERROR* atombios stuck in loop for more than "
                     "5secs aborting\namdgpu 0000:67:00.0: gpu post error!\n" +
                     gave_up),
            "hw-error");
}

TEST(ProgramTexts, the_version_of_a_build_for_the_cpu_is_read_among_other_values) {
  EXPECT_EQ(cause_of("1.13.1+cpu None False\n"), "wrong-wheel");
  EXPECT_NE(cause_of("2.6.0+rocm6.2 6.2.41133 True\n"), "wrong-wheel");
}

TEST(ProgramTexts, a_crash_in_the_runtime_of_a_nightly_build_is_the_builds) {
  const std::string crash =
      "Segmentation fault (core dumped)\n"
      "#1  0x00007ffff2c9b1d4 in rocr::AMD::GpuAgent::InitDma() () from "
      "lib/libhsa-runtime64.so.1\n";
  EXPECT_EQ(cause_of(crash, R"({"vendor": "AMD", "gfx": "gfx1151", "rocm": "7.14.0a20260609"})"),
            "rocm-regression");
}

TEST(ProgramTexts, an_allocator_that_fills_the_card_for_little_is_fragmented) {
  const auto cycles = [](std::string_view unit) {
    std::string log = "AMD Radeon RX 9070 XT  15.92 GiB\n";
    for (int i = 0; i < 8; ++i) {
      const int reserved = unit == "grows" ? 220 + 1900 * i : 480;
      log += "step " + std::to_string(i) + "  allocated 306 MiB  reserved " +
             std::to_string(reserved) + " MiB\n";
    }
    return log;
  };
  constexpr std::string_view card = R"({"vendor": "AMD", "gfx": "gfx1201", "vram": "16 GiB"})";
  EXPECT_EQ(cause_of(cycles("grows"), card), "fragmentation");
  EXPECT_NE(cause_of(cycles("level"), card), "fragmentation");
}

TEST(ProgramTexts, a_bare_kill_beside_another_vendors_card_tells_of_no_limit) {
  const std::string killed =
      "/entrypoint.sh: line 52:     9 Killed                  python3 ./main.py\n"
      "comfyui exited with code 137\n";
  EXPECT_EQ(cause_of(killed, R"({"vendor": "NVIDIA", "gpu": "RTX 3090"})"), "not-amd-gpu");
}

}  // namespace
}  // namespace headroom::findings
