// SPDX-License-Identifier: Apache-2.0
// Causes that look alike: for each line that tells them apart, the case that has it and the
// neighbour that does not.
#include <gmock/gmock.h>

#include <algorithm>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;
using ::testing::HasSubstr;

constexpr std::string_view a_card = R"({"vendor": "AMD", "gpu": "Radeon RX 7900 XTX"})";

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

// ------------------------------------------------------------------ what stands beside the failure

TEST(NearNeighbours, a_container_with_render_nodes_alone_has_no_gpu_for_torch) {
  const std::string asked =
      " me/train-rocm:3 python3 -c 'import torch; "
      "print(torch.cuda.is_available())'\nFalse\n";
  EXPECT_EQ(diagnose("$ docker run --rm --device=/dev/dri" + asked, a_card).cause.id,
            "kfd-not-passed");
  EXPECT_NE(
      diagnose("$ docker run --rm --device=/dev/kfd --device=/dev/dri" + asked, a_card).cause.id,
      "kfd-not-passed");
}

TEST(NearNeighbours, memory_in_use_on_a_node_without_jobs) {
  const std::string table =
      "| 0000:21:00.0    AMD Instinct MI300X | 0 %      31 °C   0          140/750 W |\n"
      "|   0       0       2        SPX/NPS1 | 0 %        N/A         52011/196288 MB |\n";
  const std::string idle = "There is no job on the node.\n";
  const std::string monitors = "The only PIDs are /usr/bin/gpuagent and rdcd.\n";
  constexpr std::string_view pod = R"({"vendor": "AMD", "container": "kubernetes"})";
  const LogDiagnosis diagnosis = diagnose(idle + table + monitors, pod);
  EXPECT_EQ(diagnosis.cause.id, "vram-orphaned");
  EXPECT_GE(diagnosis.cause.confidence, 0.6);
  EXPECT_LT(confidence_of(diagnose(idle + table, pod), "vram-orphaned"), 0.6);
  EXPECT_NE(diagnose(table, pod).cause.id, "vram-orphaned");
}

TEST(NearNeighbours, what_ollama_lists_for_an_apu_is_half_of_the_ram) {
  const std::string_view log =
      "level=INFO msg=\"inference compute\" id=0 library=ROCm compute=gfx1150 name=ROCm0 "
      "description=\"AMD Radeon Graphics\" type=iGPU total=\"46.9 GiB\" available=\"46.1 GiB\"\n"
      "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 50000.00 MiB on device 0: cudaMalloc "
      "failed: out of memory\n";
  EXPECT_EQ(diagnose(log, R"({"vendor": "AMD", "ram": "96 GB"})").cause.id, "ttm-cap");
  EXPECT_NE(diagnose(log, R"({"vendor": "AMD", "ram": "64 GB"})").cause.id, "ttm-cap");
}

TEST(NearNeighbours, opencl_offers_only_the_carve_out) {
  EXPECT_EQ(diagnose("  Global memory size         536870912 (512MiB)\n", R"({"vendor": "AMD"})")
                .cause.id,
            "uma-carveout-small");
  EXPECT_NE(diagnose("  Global memory size         17163091968 (15.98GiB)\n", a_card).cause.id,
            "uma-carveout-small");
}

TEST(NearNeighbours, tensorflow_dies_on_a_card_that_is_younger_than_its_rocm) {
  constexpr std::string_view died = "$ python train.py\nSegmentation fault (core dumped)\n";
  const LogDiagnosis diagnosis =
      diagnose(died, R"({"vendor": "AMD", "gpu": "Radeon RX 5700 XT", "rocm": "3.3",
                "framework": "TensorFlow 2.1"})");
  EXPECT_EQ(diagnosis.cause.id, "gfx-target-missing");
  EXPECT_THAT(diagnosis.cause.title, HasSubstr("TensorFlow"));
}

TEST(NearNeighbours, an_image_named_for_the_target_was_built_for_it) {
  const std::string died =
      "Error: llama runner process has terminated: error:invalid argument current device: 0, in "
      "function ggml_backend_cuda_device_get_memory at ggml-cuda.cu:2902\n";
  constexpr std::string_view stated =
      R"({"vendor": "AMD", "gpu": "Radeon RX 570", "rocm": "6.3", "container": "docker"})";
  const LogDiagnosis own =
      diagnose("$ docker run -it --device=/dev/kfd me/gfx803-ollama:7 bash\n" + died, stated);
  EXPECT_EQ(own.cause.id, "kernel-too-old");
  const LogDiagnosis other =
      diagnose("$ docker run -it --device=/dev/kfd me/ollama:7 bash\n" + died, stated);
  EXPECT_EQ(other.cause.id, "gfx-target-dropped");
}

constexpr std::string_view two_agents =
    "Agent 2\n  Name:                    gfx1100\nAgent 3\n  Name:                    gfx1036\n";

TEST(NearNeighbours, the_integrated_gpu_gets_a_share_and_the_server_does_not_start) {
  const std::string share =
      "llama_kv_cache:      ROCm0 KV buffer size =  1024.00 MiB\n"
      "llama_kv_cache:      ROCm1 KV buffer size =  3072.00 MiB\n";
  const std::string failed = "[Error] Failed to load model: llama-server failed to start\n";
  EXPECT_EQ(diagnose(share + failed + std::string(two_agents), a_card).cause.id, "igpu-selected");
  EXPECT_NE(diagnose(share + std::string(two_agents), a_card).cause.id, "igpu-selected");
  EXPECT_NE(
      diagnose("$ HIP_VISIBLE_DEVICES=0 llama-server\n" + share + failed + std::string(two_agents),
               a_card)
          .cause.id,
      "igpu-selected");
}

TEST(NearNeighbours, results_are_exact_only_without_copies_between_peers) {
  const LogDiagnosis diagnosis = diagnose(
      "two GPUs, default                        0/9 exact\n"
      "two GPUs, -DGGML_CUDA_NO_PEER_COPY=ON    9/9 exact\n",
      R"({"vendor": "AMD", "gpu": "2x Radeon RX 7900 XTX"})");
  EXPECT_EQ(diagnosis.cause.id, "rccl-p2p");
}

TEST(NearNeighbours, reserved_memory_is_said_to_grow_and_allocated_memory_not) {
  const std::string grows =
      "reserved memory grows by 90 MiB with each round, up to the card's size,\n";
  EXPECT_EQ(diagnose(grows + "while `allocated` stays below 300 MiB.\n", a_card).cause.id,
            "fragmentation");
  EXPECT_NE(diagnose(grows + "and `allocated` grows with it.\n", a_card).cause.id, "fragmentation");
}

TEST(NearNeighbours, an_older_release_in_quotes_did_the_same_job) {
  const std::string refused = "ggml_cuda: CUDA error: out of memory\n";
  const std::string told = "`phi3:14b` worked fine on `0.1.30-rocm`\n";
  const auto is_regression = [](const Consequence& one) { return one.id == "framework-bug"; };
  const LogDiagnosis with = diagnose(told + refused, a_card);
  EXPECT_TRUE(std::any_of(with.consequences.begin(), with.consequences.end(), is_regression));
  const LogDiagnosis without = diagnose(refused, a_card);
  EXPECT_FALSE(
      std::any_of(without.consequences.begin(), without.consequences.end(), is_regression));
}

TEST(NearNeighbours, a_message_about_memory_that_was_broken_behind_its_sentences) {
  const LogDiagnosis diagnosis = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. \n"
      "Tried to allocate 30.00 MiB. GPU 0 has a total capacity of 15.92 GiB of which 12.10 GiB is "
      "free. \n"
      "Of the allocated memory 1.60 GiB is allocated by PyTorch, and 20.00 MiB is reserved by "
      "PyTorch but unallocated.\n",
      a_card);
  EXPECT_NE(diagnosis.cause.id, "job-too-big");
  EXPECT_TRUE(diagnosis.was_refused_with_room);
}

}  // namespace
}  // namespace headroom::findings
