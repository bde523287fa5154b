// SPDX-License-Identifier: Apache-2.0
// Sessions of a shell in which what decides stands in the output of a tool: whose memory it is,
// which build pip installed, which release ran when, on which GPU.
#include <gmock/gmock.h>

#include "findings/causes/causes.h"
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;
using ::testing::HasSubstr;

// ------------------------------------------------------------------ whose memory it is

constexpr std::string_view process_table =
    "$ rocm-smi --showpids\n"
    "PID    PROCESS NAME   GPU(s)  VRAM USED       SDMA USED  CU OCCUPANCY\n"
    "41877  ray::Worker    1       173618151424    0          0\n";

std::string refused_in(const std::string& pid) {
  return "(Worker pid=" + pid +
         ") torch.OutOfMemoryError: HIP out of memory. Tried to allocate 9.37 GiB. GPU 0 has a "
         "total capacity of 191.98 GiB of which 6.55 GiB is free. Of the allocated memory 22.91 "
         "GiB is allocated by PyTorch, and 1.02 GiB is reserved by PyTorch but unallocated.\n";
}

TEST(OwnProcess, memory_of_the_process_itself_is_not_held_by_another) {
  const auto own = diagnose(refused_in("41877") + std::string(process_table));
  EXPECT_EQ(own.cause.id, "framework-bug");
  EXPECT_THAT(own.cause.title, HasSubstr("The process itself holds 161.69 GiB"));
  EXPECT_EQ(diagnose(refused_in("12") + std::string(process_table)).cause.id, "vram-held-by-other");
  const std::string another = "5120   ollama         1       26843545600     0          0\n";
  const auto both = diagnose(refused_in("41877") + std::string(process_table) + another);
  EXPECT_EQ(both.cause.id, "vram-held-by-other");
  EXPECT_THAT(both.cause.title, HasSubstr("ollama"));
}

TEST(VramOrphaned, a_queue_that_could_not_be_evicted_is_the_trouble_of_its_end) {
  const std::string percent =
      "GPU[0]  VRAM%: 16\n"
      "GPU[1]  VRAM%: 0\n"
      "$ rocm-smi --showpids\n"
      "No KFD PIDs currently running\n";
  const std::string trouble =
      "[1043381.901212] amdgpu 0000:05:00.0: amdgpu: Failed to evict queue 3\n"
      "[1043381.901220] amdgpu: Failed to quiesce KFD\n";
  const auto left = diagnose(percent + trouble);
  EXPECT_EQ(left.cause.id, "vram-orphaned");
  EXPECT_THAT(left.cause.title, HasSubstr("16 % of the GPU's memory"));
  EXPECT_EQ(diagnose(trouble).cause.id, "gpu-hang");
}

// ------------------------------------------------------------------ what is counted as free

TEST(FreeMemoryMisreported, what_the_failing_run_read_counts_and_not_an_earlier_one) {
  const std::string driver =
      "$ cat /sys/class/drm/card1/device/mem_info_vram_total "
      "/sys/class/drm/card1/device/mem_info_vram_used\n"
      "103079215104\n"
      "412319744\n"
      "$ ./b7300/llama-server -m gpt-oss-120b.gguf -ngl 99\n"
      "llama_model_load_from_file_impl: using device ROCm0 (AMD Radeon 8060S Graphics) "
      "(0000:c6:00.0) - 97891 MiB free\n";
  const std::string refused =
      "$ ./b7440/llama-server -m gpt-oss-120b.gguf -ngl 99\n"
      "llama_params_fit_impl: projected to use 61380 MiB of device memory vs. 22684 MiB of free "
      "device memory\n"
      "llama_params_fit: failed to fit params to free device memory: n_gpu_layers already set by "
      "user to 99, abort\n";
  EXPECT_EQ(diagnose(driver + refused).cause.id, "free-memory-misreported");
  EXPECT_NE(diagnose(driver).cause.id, "free-memory-misreported");
}

TEST(FreeMemoryMisreported, a_carve_out_is_not_a_part_of_the_ram_that_is_left) {
  const auto counted = [](const std::string& vram) {
    return diagnose("Total VRAM " + vram +
                    " MB, total RAM 31726 MB\n"
                    "Device: cuda:0 Radeon 8060S Graphics : native\n"
                    "comfyui.service: Main process exited, code=dumped, status=11/SEGV\n");
  };
  EXPECT_NE(counted("98304").cause.id, "free-memory-misreported");
  EXPECT_EQ(counted("110000").cause.id, "free-memory-misreported");
}

// ------------------------------------------------------------------ which build, which release

TEST(WrongWheel, an_index_for_rocm_beside_pypi_does_not_make_it_a_build_for_rocm) {
  const auto installed = [](const std::string& packages) {
    return diagnose(
        "$ pip install torch --extra-index-url https://download.pytorch.org/whl/rocm5.4.2/\n"
        "Successfully installed " +
            packages +
            "\n"
            "$ python -c \"import torch; print(torch.cuda.is_available())\"\n"
            "False\n",
        R"({"vendor": "AMD", "gpu": "RX 6800"})");
  };
  EXPECT_EQ(installed("nvidia-cublas-cu11-11.10.3.66 torch-1.13.1").cause.id, "wrong-wheel");
  EXPECT_NE(installed("nvidia-cublas-cu11-11.10.3.66 torch-1.13.1\nSuccessfully uninstalled "
                      "torch-1.13.1")
                .cause.id,
            "wrong-wheel");
  EXPECT_NE(installed("pytorch-triton-rocm-2.0.1 torch-2.0.1+rocm5.4.2").cause.id, "wrong-wheel");
}

TEST(RocmRegression, packages_that_are_listed_and_set_up_tell_the_releases) {
  const std::string good =
      "$ apt list --installed | grep rocm-core\n"
      "rocm-core/jammy,now 6.2.3.60203-124~22.04 amd64 [installed]\n"
      "$ python3 -c \"import torch; print(torch.cuda.is_available())\"\n"
      "True\n";
  const std::string bad =
      "rocminfo: ./thunk_proxy.cpp:111: void QueryAdapterInfo(): Assertion `ret == STATUS_SUCCESS' "
      "failed.\n"
      "Aborted (core dumped)\n";
  const std::string update = "Setting up rocm (6.3.4.60304-76~22.04) ...\n";
  const auto found = diagnose(good + update + "$ rocminfo\n" + bad);
  EXPECT_EQ(found.cause.id, "rocm-regression");
  EXPECT_THAT(found.cause.title, HasSubstr("6.3.4"));
  EXPECT_NE(diagnose(good + "$ rocminfo\n" + bad).cause.id, "rocm-regression");
}

TEST(GfxTargetDropped, files_of_another_folder_behind_the_list_are_not_in_it) {
  const std::string refused =
      "I moved the box from ROCm 6.3 to 6.4.0.\n"
      "rocBLAS error: Cannot read /opt/rocm-6.4.0/lib/rocblas/library/TensileLibrary.dat: No such "
      "file or directory for GPU arch : gfx906\n"
      " List of available TensileLibrary Files :\n"
      "\"/opt/rocm-6.4.0/lib/rocblas/library/TensileLibrary_lazy_gfx1101.dat\"\n"
      "\"/opt/rocm-6.4.0/lib/rocblas/library/TensileLibrary_lazy_gfx90a.dat\"\n"
      "Aborted (core dumped)\n";
  const auto found = diagnose(
      refused + "/opt/rocm-6.3.3/lib/rocblas/library/ has TensileLibrary_lazy_gfx906.dat\n");
  EXPECT_EQ(found.cause.id, "gfx-target-dropped");
}

// ------------------------------------------------------------------ on which GPU

TEST(IgpuSelected, nothing_crashes_and_the_program_says_that_it_runs_on_it) {
  const std::string devices =
      "[INFO] GPU arch: gfx1200\n"
      "[INFO] AMD arch: gfx1036\n"
      "[INFO] Device: cuda:0 AMD Radeon(TM) Graphics : native\n"
      "[ERROR] attention is unavailable\n";
  EXPECT_EQ(diagnose(devices).cause.id, "igpu-selected");
  const auto masked = diagnose("$ export HIP_VISIBLE_DEVICES=1\n" + devices);
  EXPECT_LT(confidence_of(masked, "igpu-selected"), 0.5);
}

}  // namespace
}  // namespace headroom::findings
