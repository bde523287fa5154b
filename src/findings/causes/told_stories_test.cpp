// SPDX-License-Identifier: Apache-2.0
// Reports that tell of a failure in words, or show a line that says nothing by itself: what is
// known of the machine, or a second line, tells the cause. Beside each stands one that only looks
// alike.
#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;

constexpr std::string_view amd = R"({"vendor": "AMD"})";

TEST(ToldStories, a_standstill_in_ddps_start_is_a_collective) {
  const std::string frames =
      "[rank14]: Traceback (most recent call last):\n"
      "[rank14]:   File \"/x/mnist.py\", line 55, in train\n"
      "[rank14]:     model = DistributedDataParallel(model, device_ids=[local_rank])\n"
      "[rank14]:   File \"/p/torch/nn/parallel/distributed.py\", line 835, in __init__\n"
      "[rank14]:     _verify_param_shape_across_processes(self.process_group, parameters)\n";
  const std::string told = "The execution hangs right at the start on two nodes.\n";
  EXPECT_EQ(diagnose(told + frames, amd).cause.id, "collective-hang");
  EXPECT_NE(diagnose("It is a small job on two nodes.\n" + frames, amd).cause.id,
            "collective-hang");
}

TEST(ToldStories, a_standstill_where_memory_is_mapped_piece_by_piece) {
  const std::string hang =
      "Moving a tensor to the GPU hangs forever, it never returns from hsaKmtMemoryVaMap.\n";
  constexpr std::string_view set =
      R"({"vendor": "AMD", "env": "PYTORCH_HIP_ALLOC_CONF=expandable_segments:True"})";
  EXPECT_EQ(diagnose(hang, set).cause.id, "unsupported-option");
  EXPECT_NE(diagnose(hang, amd).cause.id, "unsupported-option");
  EXPECT_NE(diagnose("Step 10 took 3 s.\n", set).cause.id, "unsupported-option");
  EXPECT_NE(diagnose("DataParallel deadlocks during model synchronization.\n", set).cause.id,
            "unsupported-option");
}

TEST(ToldStories, a_kernels_check_is_one_failure_however_often_it_is_told) {
  const auto found = diagnose(
      "THCTensorScatterGather.cu:176: void fill() [with Dims = 2]: block: [0,0,0], thread: "
      "[49,0,0] Assertion `indexValue >= 0 && indexValue < tensor.sizes[dim]` failed.\n"
      "THCudaCheck FAIL file=THCReduceAll.cuh line=317 error=59 : device-side assert triggered\n"
      "Traceback (most recent call last):\n"
      "  File \"train.py\", line 92, in <module>\n"
      "    loss = criterion(output, label)\n"
      "RuntimeError: cuda runtime error (59) : device-side assert triggered at THCReduceAll.cuh\n");
  EXPECT_EQ(found.cause.id, "app-bug");
}

TEST(ToldStories, tensors_of_two_devices_in_other_words) {
  for (const char* error :
       {"indices should be either on cpu or on the same device as the indexed tensor (cpu)",
        "Expected object of backend CUDA but got backend CPU for argument #2 'mat2'"}) {
    const auto found =
        diagnose("  File \"train.py\", line 5, in f\nRuntimeError: " + std::string(error) + "\n");
    EXPECT_EQ(found.cause.id, "app-bug") << error;
  }
}

TEST(ToldStories, harmless_lines_of_a_run_that_is_said_to_finish) {
  const std::string lines =
      "MIOpen(HIP): Warning [IsEnoughWorkspace] [EvaluateInvokers] Solver <GemmFwdRest>, workspace "
      "required: 25657344, provided ptr: 0 size: 0\n";
  const std::string complaint = "The driver complains continuously, is this a bug?\n";
  EXPECT_EQ(
      diagnose(complaint + "It does finish, and produces the audio correctly though.\n" + lines,
               amd)
          .cause.id,
      "none");
  EXPECT_NE(diagnose(complaint + lines, amd).cause.id, "none");
  EXPECT_NE(diagnose(complaint + "It does finish.\n", amd).cause.id, "none");
}

TEST(ToldStories, slow_at_first_and_then_quick_is_no_fault) {
  const std::string slow = "VAE decode takes more than two minutes the first time, no error.\n";
  EXPECT_EQ(diagnose(slow + "The second picture of the same size is fast.\n", amd).cause.id,
            "none");
  EXPECT_NE(diagnose(slow, amd).cause.id, "none");
  EXPECT_NE(diagnose("Every time the first picture is slow. The second is fast.\n"
                     "Memory access fault by GPU node-1 on address 0x7f00.\n",
                     amd)
                .cause.id,
            "none");
}

TEST(ToldStories, an_appliance_has_no_compute_driver) {
  const std::string lost = "level=INFO msg=\"no compatible amdgpu devices detected\"\n";
  constexpr std::string_view appliance =
      R"({"vendor": "AMD", "distro": "Home Assistant OS", "container": "docker add-on"
})";
  constexpr std::string_view debian =
      R"({"vendor": "AMD", "distro": "Debian 13", "container": "docker"})";
  EXPECT_EQ(diagnose(lost, appliance).cause.id, "host-without-kfd");
  EXPECT_EQ(diagnose(lost, debian).cause.id, "kfd-not-passed");
}

TEST(ToldStories, wsl_before_rocm_came_to_it) {
  const std::string lost = "ROCk module is NOT loaded, possibly no GPU devices\nI use WSL2.\n";
  EXPECT_EQ(diagnose(lost, R"({"gpu": "RX 6700S", "rocm": "5.2.3"})").cause.id, "host-without-kfd");
  EXPECT_EQ(diagnose(lost, R"({"gpu": "RX 6700S", "rocm": "6.4.1"})").cause.id, "gpu-unsupported");
}

TEST(ToldStories, a_request_that_only_the_carve_out_could_hold) {
  const std::string told = "It fails to allocate a ~30–32 GB ROCm buffer.\n";
  constexpr std::string_view apu =
      R"({"gpu": "Radeon 890M", "gfx": "gfx1150", "vram": "48 GB", "ram": "96 GB")";
  const std::string stated(apu);
  EXPECT_EQ(diagnose(told, stated + "}").cause.id, "ttm-cap");
  EXPECT_NE(diagnose(told, stated + R"(, "kernel": "6.17.0"})").cause.id, "ttm-cap");
  EXPECT_NE(diagnose("It fails to allocate a 12 GB buffer.\n", stated + "}").cause.id, "ttm-cap");
}

TEST(ToldStories, a_share_of_a_memory_that_the_system_needs_too) {
  const std::string log =
      "$ vllm serve m --gpu-memory-utilization 0.95\n"
      "The system reaches 123 G and spills 5.14 GB into swap.\n";
  EXPECT_EQ(diagnose(log, R"({"gpu": "Radeon 8060S", "ram": "128 GB"})").cause.id,
            "free-memory-misreported");
  EXPECT_NE(diagnose(log, R"({"gpu": "RX 7900 XTX"})").cause.id, "free-memory-misreported");
}

TEST(ToldStories, the_index_has_the_package_and_nothing_for_this_python) {
  const std::string none =
      "ERROR: Could not find a version that satisfies the requirement tensorflow-rocm (from "
      "versions: none)\n";
  constexpr std::string_view python = R"({"gpu": "RX 570", "python": "3.9"})";
  EXPECT_EQ(diagnose(none, python).cause.id, "python-version-unsupported");
  EXPECT_LT(diagnose(none, python).cause.confidence, 0.8);
  const std::string offline =
      "WARNING: Retrying (Retry(total=4, connect=None)) after connection "
      "broken by NewConnectionError\n";
  EXPECT_NE(diagnose(offline + none, python).cause.id, "python-version-unsupported");
}

TEST(ToldStories, a_queue_that_ends_alone_tells_too_little) {
  const std::string queue =
      "Callback: Queue 0x76f676200000 aborting with error : HSA_STATUS_ERROR_EXCEPTION: An HSAIL "
      "operation resulted in a hardware exception. code: 0x1016\n";
  EXPECT_EQ(diagnose(queue, R"({"gpu": "MI210"})").cause.id, "insufficient-evidence");
}

TEST(ToldStories, a_library_beside_xlas_pool_gets_no_memory) {
  EXPECT_EQ(diagnose("INTERNAL: solver_kernels_ffi.cc:452: operation hipGetLastError() failed: out "
                     "of memory\n",
                     amd)
                .cause.id,
            "framework-bug");
}

TEST(ToldStories, the_wording_of_a_failure_alone_tells_no_vendor_for_sure) {
  for (const char* line :
       {"n1:12:13 [0] NCCL WARN Cuda failure 'unhandled cuda error'\n",
        "UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(). Error 101: "
        "invalid device ordinal\n"}) {
    EXPECT_LT(diagnose(line).cause.confidence, 0.6) << line;
  }
  EXPECT_EQ(diagnose("[0] NCCL WARN Cuda failure 'invalid device function'\n").cause.id,
            "gfx-target-missing");
  EXPECT_LT(
      diagnose("Unexpected error from hipGetDeviceCount(). Error 101: hipErrorInvalidDevice\n")
          .cause.confidence,
      0.6);
}

TEST(ToldStories, a_build_in_an_environment_of_its_own_does_not_see_torch) {
  const std::string missing = "      ModuleNotFoundError: No module named 'torch'\n";
  const auto built = diagnose("  error: subprocess-exited-with-error\n" + missing, amd);
  EXPECT_EQ(built.cause.id, "missing-library");
  EXPECT_THAT(built.cause.title, ::testing::HasSubstr("environment of its own"));
  EXPECT_THAT(diagnose(missing, amd).cause.title, ::testing::HasSubstr("no module torch"));
}

TEST(ToldStories, what_is_said_of_the_cpu_counts_where_a_rule_looks_for_a_lost_gpu) {
  const std::string node = "crw-rw---- 1 nobody nogroup 234, 0 Jul  1 10:00 /dev/kfd\n";
  EXPECT_EQ(diagnose(node + "Ollama only uses the CPU.\n", amd).cause.id, "device-permission");
  EXPECT_NE(diagnose(node, amd).cause.id, "device-permission");
}

TEST(ToldStories, builds_that_are_not_for_rocm_by_their_plain_name) {
  const std::string lost = "level=INFO msg=\"no compatible GPUs were discovered\"\n";
  constexpr std::string_view card = R"({"gpu": "RX 6800"})";
  EXPECT_EQ(diagnose("    image: ollama/ollama:latest\n" + lost, card).cause.id, "wrong-wheel");
  EXPECT_NE(diagnose("    image: ollama/ollama:rocm\n" + lost, card).cause.id, "wrong-wheel");
  const std::string cpu = "jax.devices() returns [CpuDevice(id=0)]\n";
  EXPECT_EQ(diagnose("$ pip install -U jax\n" + cpu, card).cause.id, "wrong-wheel");
  EXPECT_NE(diagnose("$ pip install jax jax-rocm60-plugin\n" + cpu, card).cause.id, "wrong-wheel");
  EXPECT_EQ(diagnose("2.6.0+cu124 False\n", card).cause.id, "wrong-wheel");
}

TEST(ToldStories, ray_hides_what_its_worker_did_not_ask_for) {
  const std::string lost = "RuntimeError: No HIP GPUs are available\n";
  EXPECT_EQ(diagnose(lost + "This happens only inside the ray worker.\n", amd).cause.id,
            "device-index");
  EXPECT_NE(diagnose(lost, amd).cause.id, "device-index");
}

TEST(ToldStories, hcc_is_of_an_old_rocm) {
  const auto found = diagnose(
      "ImportError: libhip_hcc.so.3: cannot open shared object file: No such file or directory\n",
      amd);
  EXPECT_EQ(found.cause.id, "rocm-version-mismatch");
  EXPECT_LT(found.cause.confidence, 0.8);
}

TEST(ToldStories, a_gpu_that_rocminfo_lists_has_its_driver) {
  const std::string asked = "What is wrong with this install?\n$ sudo /opt/rocm/bin/rocminfo\n";
  const std::string warned =
      "libkmod: ERROR ../libkmod/libkmod-module.c:1931 kmod_module_get_holders: could not open "
      "'/sys/module/windrvr6/holders': No such file or directory\n"
      "ROCk module is NOT loaded, possibly no GPU devices\n";
  const std::string listed = "Agent 2\n  Name:                    gfx803\n";
  EXPECT_EQ(diagnose(asked + warned + listed, amd).cause.id, "none");
  EXPECT_EQ(diagnose(asked + warned, amd).cause.id, "driver-not-loaded");
  // The GPU was there in another run, before.
  EXPECT_EQ(diagnose(listed + asked + warned, amd).cause.id, "driver-not-loaded");
  EXPECT_NE(diagnose("PyTorch does not find my card.\n" + asked + warned + listed, amd).cause.id,
            "none");
}

TEST(ToldStories, a_machine_that_switches_itself_off_is_not_healthy) {
  const std::string job = "Prompt executed in 29.30 seconds\n";
  EXPECT_EQ(diagnose("Pictures are fine.\n" + job, amd).cause.id, "none");
  EXPECT_EQ(diagnose("The whole PC goes off during or right after an image.\n" + job, amd).cause.id,
            "insufficient-evidence");
}

TEST(ToldStories, notes_that_are_harmless) {
  const std::string complaint = "Everything that I run on this card crashes after some minutes.\n";
  for (const char* line :
       {"transformer.py:20: UserWarning: Flash Attention is disabled as it requires a GPU with "
        "Ampere (8.0) CUDA capability.\n",
        "W tensorflow/stream_executor/rocm/rocm_driver.cc:405] creating context when one is "
        "currently active; existing: 0x7ff369ad9360\n",
        "I can't find a package of pre-compiled kernels for it:\nPackage: "
        "miopen-hip-gfx900kdb6.0.0\n"}) {
    EXPECT_EQ(diagnose(line, amd).cause.id, "none") << line;
    EXPECT_NE(diagnose(complaint + line, amd).cause.id, "none") << line;
  }
}

TEST(ToldStories, another_value_of_the_override_works) {
  constexpr std::string_view card =
      R"({"vendor": "AMD", "gfx": "gfx1031", "env": "HSA_OVERRIDE_GFX_VERSION=11.0.0"})";
  const std::string told =
      "The whole desktop crashes while it starts.\n"
      " - line removed: only the app crashes\n";
  EXPECT_EQ(diagnose(told + " - `HSA_OVERRIDE_GFX_VERSION=10.3.0`: runs fine\n", card).cause.id,
            "gfx-override-wrong");
  const auto sure = [&](const std::string& came) {
    return confidence_of(
        diagnose(told + " - `HSA_OVERRIDE_GFX_VERSION=10.3.0`: " + came + "\n", card),
        "gfx-override-wrong");
  };
  EXPECT_GT(sure("runs fine"), 0.8);
  EXPECT_LT(sure("crashes"), 0.8);
}

TEST(ToldStories, masks_of_a_later_run_do_not_count) {
  const std::string fails =
      "> ROCR_VISIBLE_DEVICES=1 CUDA_VISIBLE_DEVICES=1 python t.py\n"
      "RuntimeError: No HIP GPUs are available\n";
  const std::string works = "> ROCR_VISIBLE_DEVICES=1 CUDA_VISIBLE_DEVICES=0 python t.py\n1\n";
  EXPECT_EQ(diagnose(fails + works, amd).cause.id, "device-index");
  EXPECT_NE(diagnose(works + "RuntimeError: No HIP GPUs are available\n", amd).cause.id,
            "device-index");
}

TEST(ToldStories, root_gets_through) {
  const std::string fails =
      "hsa api call failure at: rocminfo.cc:1102\n"
      "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate.\n";
  EXPECT_EQ(diagnose(fails + "With `sudo rocminfo` it works as it should.\n", amd).cause.id,
            "device-permission");
  EXPECT_NE(diagnose(fails + "With `sudo rocminfo` it works no better.\n", amd).cause.id,
            "device-permission");
}

TEST(ToldStories, a_fault_in_kernels_of_ones_own) {
  const std::string fault =
      "Memory access fault by GPU node-1 on address 0x916dd3000. Reason: Page not present.\n";
  EXPECT_EQ(diagnose("Two sequences of my own kernels, the second ends in\n" + fault, amd).cause.id,
            "app-bug");
  EXPECT_NE(diagnose("Two sequences of kernels, the second ends in\n" + fault, amd).cause.id,
            "app-bug");
}

TEST(ToldStories, the_node_is_said_to_be_gone) {
  const std::string gone = "/dev/kfd is no longer there, on the host I mean.\n";
  EXPECT_EQ(diagnose(gone, amd).cause.id, "driver-not-loaded");
  EXPECT_EQ(diagnose("modprobe amdkfd gives an exec error.\n", amd).cause.id, "driver-not-loaded");
  EXPECT_NE(diagnose("/dev/kfd is there, on the host I mean.\n", amd).cause.id,
            "driver-not-loaded");
}

TEST(ToldStories, the_compute_driver_trips_over_a_chip_of_gcn_2) {
  const std::string warned = "[109115.055058] Load non-HWS mqd while stopped\n";
  constexpr std::string_view hawaii = R"({"vendor": "AMD", "gpu": "R9 390X", "gfx": "gfx701"})";
  constexpr std::string_view navi = R"({"vendor": "AMD", "gfx": "gfx1100"})";
  EXPECT_EQ(diagnose(warned, hawaii).cause.id, "gpu-unsupported");
  EXPECT_NE(diagnose(warned, navi).cause.id, "gpu-unsupported");
}

TEST(ToldStories, killed_after_a_standstill_with_little_ram) {
  const std::string told = "Well up to the sampler, then the screen freezes.\n";
  constexpr std::string_view small = R"({"vendor": "AMD", "ram": "16 GB"})";
  constexpr std::string_view large = R"({"vendor": "AMD", "ram": "128 GB"})";
  EXPECT_EQ(diagnose(told + "Killed\n", small).cause.id, "job-too-big");
  EXPECT_NE(diagnose(told + "Killed\n", large).cause.id, "job-too-big");
  EXPECT_NE(diagnose("Killed\n", small).cause.id, "job-too-big");
}

TEST(ToldStories, an_environment_below_a_path_with_a_space) {
  const std::string refused =
      "RuntimeError: HIP error: no kernel image is available for execution on the device\n";
  constexpr std::string_view card =
      R"({"vendor": "AMD", "gfx": "gfx1032", "env": "HSA_OVERRIDE_GFX_VERSION=10.3.0"})";
  EXPECT_EQ(
      diagnose("(rocm_env) me@pc:/media/me/New Volume/thesis$ python test.py\n" + refused, card)
          .cause.id,
      "framework-bug");
  EXPECT_NE(diagnose("(rocm_env) me@pc:/media/me/Volume/thesis$ python test.py\n" + refused, card)
                .cause.id,
            "framework-bug");
}

}  // namespace
}  // namespace headroom::findings
