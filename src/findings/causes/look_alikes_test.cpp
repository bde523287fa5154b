// SPDX-License-Identifier: Apache-2.0
// Lines that look like one cause and are of another: an error number that several parts of the
// kernel use, a size that is none, a message whose usual reason the rest of the log rules out.
#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;

constexpr std::string_view amd = R"({"vendor": "AMD"})";

constexpr std::string_view a_card = R"({"vendor": "AMD", "gpu": "Radeon RX 7900 XTX"})";

TEST(LookAlikes, a_window_without_room_is_no_full_disk) {
  const auto intel = diagnose(
      "[ 3.11] xe 0000:0a:00.0: [drm] Attempting to resize bar from 256MiB -> 16384MiB\n"
      "[ 3.12] xe 0000:0a:00.0: [drm] Failed to resize BAR2 to 16384M (-ENOSPC).\n");
  EXPECT_EQ(intel.cause.id, "not-amd-gpu");
  EXPECT_EQ(confidence_of(diagnose("amdgpu 0000:03:00.0: BAR 0: releasing failed: -ENOSPC\n", amd),
                          "disk-full"),
            0);
  EXPECT_EQ(diagnose("OSError: [Errno 28] No space left on device: '/tmp/pip'\n", amd).cause.id,
            "disk-full");
}

TEST(LookAlikes, compilers_of_nvidia_make_the_log_nvidias) {
  const auto found = diagnose(
      "  [1/9] /usr/local/cuda/bin/nvcc -c csrc/attention_kernels.cu -o a.o -gencode "
      "arch=compute_80,code=sm_80\n"
      "  Killed\n  ninja: build stopped: subcommand failed.\n");
  EXPECT_EQ(found.cause.id, "not-amd-gpu");
}

TEST(LookAlikes, a_size_that_is_none_is_no_job_that_is_too_big) {
  const auto asks = [](const char* bytes) {
    return diagnose(
        std::string("onnxruntime::BFCArena::AllocateRawInternal Failed to allocate memory for "
                    "requested buffer of size ") +
            bytes + "\n",
        R"({"gpu": "RX 9060 XT", "vram": "16 GB"})");
  };
  EXPECT_EQ(asks("4662799785353222400").cause.id, "framework-bug");
  EXPECT_EQ(asks("34359738368").cause.id, "job-too-big");
}

TEST(LookAlikes, a_host_without_the_node_passes_none_on) {
  const auto at = [](const std::string& folder) {
    return diagnose("$ kubectl debug node/worker-3 -it --image=busybox\n/ # ls " + folder +
                        "/dev/kfd\nls: " + folder + "/dev/kfd: No such file or directory\n",
                    amd);
  };
  EXPECT_EQ(at("/host").cause.id, "host-without-kfd");
  EXPECT_NE(at("").cause.id, "host-without-kfd");
}

TEST(LookAlikes, an_old_kernel_cannot_say_what_is_free) {
  const auto on = [](const std::string& kernel) {
    return diagnose(
        "CUDA error: invalid argument\n"
        "  current device: 0, in function ggml_backend_cuda_get_device_memory at "
        "ggml-cuda.cu:2936\n"
        "  hipMemGetInfo(free, total)\n"
        "GGML_ASSERT: ggml-cuda.cu:100: !\"CUDA error\"\n",
        R"({"gfx": "gfx900", "kernel": ")" + kernel + "\"}");
  };
  EXPECT_EQ(on("5.15.0-107-generic").cause.id, "kernel-too-old");
  EXPECT_NE(on("6.9.2").cause.id, "kernel-too-old");
}

TEST(LookAlikes, code_below_a_path_with_a_space_is_not_missing) {
  const auto in = [](const std::string& folder) {
    return diagnose("level=INFO msg=\"starting llama server\" cmd=\"" + folder +
                        "/ollama/runners/ollama_llama_server runner\"\n"
                        "ROCm error: no kernel image is available for execution on the device\n",
                    R"({"gfx": "gfx1030"})");
  };
  EXPECT_EQ(in("/mnt/AI tools").cause.id, "framework-bug");
  EXPECT_EQ(in("/mnt/tools").cause.id, "gfx-target-missing");
}

TEST(LookAlikes, one_gpu_does_not_shrink_between_two_starts) {
  const auto totals = [](const char* second) {
    return diagnose(
        std::string("level=INFO msg=\"inference compute\" id=0 library=rocm compute=gfx1103 "
                    "name=\"AMD Radeon 780M Graphics\" total=\"39.8 GiB\" available=\"39.6 GiB\"\n"
                    "level=INFO msg=\"inference compute\" id=") +
            second +
            " library=ROCm compute=gfx1103 type=iGPU total=\"16.0 GiB\" available=\"15.8 GiB\"\n",
        amd);
  };
  EXPECT_EQ(totals("0").cause.id, "free-memory-misreported");
  EXPECT_NE(totals("1").cause.id, "free-memory-misreported");  // Another GPU.
}

TEST(LookAlikes, an_override_with_which_the_job_got_its_result_is_not_at_fault) {
  const std::string run = "$ HSA_OVERRIDE_GFX_VERSION=10.3.0 python scripts/txt2img.py\n";
  const std::string complaint = "Generating works but the first picture is slow, is that wrong?\n";
  constexpr std::string_view card = R"({"gpu": "RX 5700 XT"})";
  EXPECT_EQ(
      diagnose(run + "Your samples are ready and waiting for you here: outputs\n" + complaint, card)
          .cause.id,
      "none");
  EXPECT_EQ(diagnose(run + "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION\n"
                           "Memory access fault by GPU node-1 on address 0x7f.\n",
                     card)
                .cause.id,
            "gfx-override-wrong");
}

// ------------------------------------------------------------------ whose machine it is

constexpr std::string_view low_bit_type =
    "Traceback (most recent call last):\n"
    "  File \"/srv/job/paint.py\", line 12, in <module>\n"
    "    from diffusers.models import UNet2DModel\n"
    "AttributeError: module 'torch' has no attribute 'uint3'\n";

TEST(LookAlikes, a_type_that_torch_lacks_is_not_torchaos_on_another_vendors_card) {
  const LogDiagnosis diagnosis =
      diagnose("Device: cuda:0 NVIDIA GeForce RTX 3080\n" + std::string(low_bit_type));
  EXPECT_EQ(diagnosis.cause.id, "not-amd-gpu");
  EXPECT_EQ(diagnose(low_bit_type, a_card).cause.id, "torchao-incompatible");
}

TEST(LookAlikes, torchaos_own_import_fails_on_any_vendors_card) {
  const LogDiagnosis diagnosis = diagnose(
      "Device: cuda:0 NVIDIA GeForce RTX 3080\n"
      "Traceback (most recent call last):\n"
      "  File \"/v/lib/python3.11/site-packages/torchao/quantization/q.py\", line 3, in <module>\n"
      "    kinds = [torch.uint3]\n"
      "AttributeError: module 'torch' has no attribute 'uint3'\n");
  EXPECT_EQ(diagnosis.cause.id, "torchao-incompatible");
}

TEST(LookAlikes, nvidias_runtime_tells_whose_container_it_is) {
  constexpr std::string_view died = "[08:11:02] ERROR    Worker (pid:41) was sent SIGSEGV!\n";
  EXPECT_EQ(diagnose("--runtime=nvidia\n" + std::string(died)).cause.id, "not-amd-gpu");
  EXPECT_NE(diagnose("--runtime=nvidia\n" + std::string(died), a_card).cause.id, "not-amd-gpu");
  EXPECT_NE(diagnose("image: tool:latest-rocm\nruntime: nvidia\n" + std::string(died)).cause.id,
            "not-amd-gpu");
}

TEST(LookAlikes, a_mask_explains_an_index_on_a_gpu_of_unknown_make) {
  const std::string failed =
      "    torch.cuda.set_device(rank)\n"
      "RuntimeError: CUDA error: invalid device ordinal\n";
  const LogDiagnosis diagnosis = diagnose("$ CUDA_VISIBLE_DEVICES=4,5 ./train.sh\n" + failed);
  EXPECT_EQ(diagnosis.cause.id, "device-index");
  EXPECT_LE(diagnosis.cause.confidence, 0.7);
  EXPECT_EQ(diagnose("$ ./train.sh\n" + failed).cause.id, "not-amd-gpu");
  EXPECT_EQ(diagnose("NVIDIA GeForce RTX 3080\n$ CUDA_VISIBLE_DEVICES=4,5 ./train.sh\n" + failed)
                .cause.id,
            "not-amd-gpu");
}

TEST(LookAlikes, a_torch_that_cannot_be_imported_is_no_build_for_cuda) {
  constexpr std::string_view refused =
      "hip_code_object.cpp: \"hipErrorNoBinaryForGpu: Unable to find code object\"\n";
  const LogDiagnosis unknown = diagnose(
      std::string(refused) + "PyTorch version: N/A\nROCM used to build PyTorch: N/A\n", a_card);
  EXPECT_LT(confidence_of(unknown, "wrong-wheel"), 0.5);
  const LogDiagnosis known =
      diagnose("PyTorch version: 2.4.1\nROCM used to build PyTorch: N/A\n", a_card);
  EXPECT_EQ(known.cause.id, "wrong-wheel");
}

TEST(LookAlikes, torchaos_own_code_is_not_found_or_ends_the_process) {
  EXPECT_EQ(
      diagnose("RuntimeError: operator torchao::unpack_rows does not exist\n", a_card).cause.id,
      "torchao-incompatible");
  EXPECT_EQ(diagnose("Fatal Python error: Aborted\n\n"
                     "Current thread 0x00007f00 (most recent call first):\n"
                     "  File \"/v/lib/torch/_ops.py\", line 9 in load_library\n"
                     "  File \"/v/lib/torchao/__init__.py\", line 7 in <module>\n",
                     a_card)
                .cause.id,
            "torchao-incompatible");
}

// ------------------------------------------------------------------ nothing failed, or no log yet

TEST(LookAlikes, the_drivers_sizes_alone_are_a_listing) {
  const std::string sizes =
      "[    5.1] amdgpu 0000:c4:00.0: amdgpu: 512M of VRAM memory ready\n"
      "[    5.1] amdgpu 0000:c4:00.0: amdgpu: 98304M of GTT memory ready.\n";
  EXPECT_EQ(diagnose(sizes, R"({"vendor": "AMD"})").cause.id, "none");
  EXPECT_NE(diagnose("The job fails to load a model of 70 GB.\n" + sizes, R"({"vendor": "AMD"})")
                .cause.id,
            "none");
}

TEST(LookAlikes, works_again_without_crashes) {
  constexpr std::string_view lines =
      "[  91.2] amdgpu: init_user_pages: Failed to get user pages: -1\n";
  EXPECT_EQ(
      diagnose("With this kernel it works again without crashes.\n" + std::string(lines), a_card)
          .cause.id,
      "none");
  EXPECT_NE(diagnose("With this kernel it still crashes.\n" + std::string(lines), a_card).cause.id,
            "none");
}

TEST(LookAlikes, whoever_has_no_log_yet_is_asked_for_it) {
  const std::string hearsay =
      "The models fail to load for many reasons. The errors are about out of memory on the GPU.\n";
  const LogDiagnosis diagnosis =
      diagnose(hearsay + "I don't have the logs here, I can add them later.\n", a_card);
  EXPECT_EQ(diagnosis.cause.id, "insufficient-evidence");
  EXPECT_NE(diagnose(hearsay, a_card).cause.id, "insufficient-evidence");
}

}  // namespace
}  // namespace headroom::findings
