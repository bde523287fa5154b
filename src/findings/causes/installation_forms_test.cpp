// SPDX-License-Identifier: Apache-2.0
// Failures of installations, drivers and GPU code in the forms in which people meet them: the same
// cause in the words of several programs, by table. A source names the thread that shows the form.
#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;

struct Form {
  std::string_view cause;
  double most;  // How sure the answer may be; doubtful forms are worded with doubt.
  std::string_view log;
  std::string_view stated = "{}";
};

std::string name_of(std::string_view log) {
  return std::string(log.substr(0, 160));
}

class InstallationForm : public ::testing::TestWithParam<Form> {};

TEST_P(InstallationForm, is_known) {
  const Form& form = GetParam();
  const LogDiagnosis diagnosis = diagnose(form.log, form.stated);
  EXPECT_EQ(diagnosis.cause.id, form.cause) << name_of(form.log) << diagnosis.cause.title;
  EXPECT_LE(diagnosis.cause.confidence, form.most) << name_of(form.log);
}

constexpr Form libraries[] = {
    // vllm#49468: the title has no name, and the traceback is cut off.
    {"missing-library", 0.7,
     "[Bug]: cannot open shared object file: No such file or directory\n"
     "Traceback (most recent call last):\n"
     "  File \"/venv/lib/python3.12/site-packages/torch/__init__.py\", line 441, in <module>\n"
     "    _load_global_deps()\n  File \"/ve\n",
     R"({"vendor": "AMD"})"},
    // pytorch#118457
    {"rocm-version-mismatch", 0.75,
     "cd /opt/rocm-6.0.1/lib/\n"
     "sudo ln -s libhipsparse.so libhipsparse.so.0\nsudo ln -s libhipblas.so.2 libhipblas.so.1\n",
     R"({"vendor": "AMD", "rocm": "6.0.1"})"},
    // In WSL: the answer stands in the line below the question.
    {"rocm-version-mismatch", 0.85,
     "$ rocminfo | grep gfx\n  Name:                    gfx1100\n"
     "$ python3 -c \"import torch; print(torch.cuda.is_available())\"\nFalse\n",
     R"({"vendor": "AMD", "framework": "PyTorch 2.6.0+rocm6.4.2", "distro": "WSL2 Ubuntu"})"},
    // legacy#5106
    {"rocm-regression", 0.65,
     "WSL environment detected.\nhsa api call failure at: /src/rocminfo/rocminfo.cc:1306\n"
     "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate\n"
     "I upgraded from 6.4.1 to 6.4.2, then sudo reboot, and this happened.\n",
     R"({"vendor": "AMD", "gpu": "RX 7800 XT", "rocm": "6.4.2"})"},
    {"missing-library", 0.8, "CMake Error: Failed to find ROCm root directory.\n",
     R"({"vendor": "AMD"})"},
    {"missing-library", 0.8, "E: Unable to locate package rocm-hip-libraries\n",
     R"({"vendor": "AMD"})"},
    {"missing-library", 0.7, " rocm-gdb : Depends: libpython3.10 but it is not installable\n",
     R"({"vendor": "AMD"})"},
    {"rocm-version-mismatch", 0.7, "RuntimeError: operator torchvision::nms does not exist\n",
     R"({"vendor": "AMD", "gpu": "RX 7900 XTX"})"},
    {"rocm-version-mismatch", 0.8,
     "ld.lld: error: Unknown attribute kind (86) (Producer: 'LLVM17.0.0' Reader: 'LLVM 15.0.7')\n",
     R"({"vendor": "AMD"})"},
    {"bitsandbytes-no-rocm", 0.9,
     "ImportError: Using `bitsandbytes` 8-bit quantization requires Accelerate: `pip install "
     "accelerate` and the latest version of bitsandbytes\n",
     R"({"vendor": "AMD", "gpu": "RX 7900 XTX"})"},
    {"backend-unavailable", 0.95,
     "ValueError: This CTranslate2 package was not compiled with CUDA support\n",
     R"({"vendor": "AMD"})"},
    {"wrong-wheel", 0.93,
     "RuntimeError: The NVIDIA driver on your system is too old (found 11040).\n",
     R"({"vendor": "AMD", "gpu": "RX 7900 XTX"})"},
    {"missing-library", 0.8, "hip/hip_runtime.h: No such file or directory\n",
     R"({"vendor": "AMD"})"},
    {"rocm-regression", 0.65,
     "Since upgrading to ROCm 6.4, it crashes. Reverting to 6.3.4 resolves it.\n",
     R"({"vendor": "AMD", "gpu": "RX 7900 XTX", "rocm": "6.4"})"},
    {"rocm-regression", 0.65,
     "I am getting NaN output with ROCm 7.1 while 7.0.2 gives correct results\n",
     R"({"vendor": "AMD", "gpu": "MI300X", "rocm": "7.1"})"},
};
INSTANTIATE_TEST_SUITE_P(Libraries, InstallationForm, ::testing::ValuesIn(libraries));

constexpr Form gpu_code[] = {
    // The person asked for the GPU's own target; the package refuses it. flash-attention#37
    {"gfx-target-missing", 0.9,
     "export GPU_ARCHS=\"gfx908\"\n"
     "AssertionError: One of GPU archs of ['gfx908'] is invalid or not supported by "
     "Flash-Attention\n",
     R"({"vendor": "AMD", "gpu": "MI100", "gfx": "gfx908"})"},
    // ComfyUI#7400: the override was tried after the failure, with a release before the card's.
    {"gfx-target-missing", 0.9,
     "I get a HIP error: invalid device function if I start main.py without any args, or if I add "
     "\"HSA_OVERRIDE_GFX_VERSION=11.0.0\", an immediate crash.\n",
     R"({"vendor": "AMD", "gpu": "9070 XT", "rocm": "6.3",
         "env": "HSA_OVERRIDE_GFX_VERSION=11.0.0 tried"})"},
    // Without such words the setting is what is wrong.
    {"gfx-override-wrong", 0.9, "RuntimeError: HIP error: invalid device function\n",
     R"({"vendor": "AMD", "gpu": "9070 XT", "rocm": "7.1",
         "env": "HSA_OVERRIDE_GFX_VERSION=11.0.0"})"},
    // ollama#738
    {"igpu-selected", 0.8,
     "ggml_init_cublas: found 2 ROCm devices:\n"
     "  Device 0: AMD Radeon RX 6500M, compute capability 10.3, VMM: no\n"
     "  Device 1: AMD Radeon Graphics, compute capability 10.3, VMM: no\n"
     "CUDA error: out of memory\n"
     "  current device: 1, in function ggml_cuda_pool_malloc_leg at ggml-cuda.cu:8584\n",
     R"({"vendor": "AMD", "gpu": "RX 6500M and an integrated Radeon"})"},
    {"gfx-target-missing", 0.85,
     "rocBLAS error: Could not load "
     "/opt/rocm/lib/rocblas/library/TensileLibrary_lazy_gfx1103.dat\n",
     R"({"vendor": "AMD", "gpu": "Radeon 780M"})"},
    {"gfx-target-missing", 0.85,
     "'gfx1200' is not a recognized processor for this target (ignoring processor)\n",
     R"({"vendor": "AMD", "gpu": "RX 9060 XT"})"},
    {"gfx-target-missing", 0.9,
     "UserWarning: AMD Radeon RX 9070 XT with gfx capability gfx1201 is not compatible with the "
     "current PyTorch installation.\n",
     R"({"vendor": "AMD", "gpu": "RX 9070 XT"})"},
    {"igpu-selected", 0.65, "It uses my integrated graphics instead of the RX 7800 XT.\n",
     R"({"vendor": "AMD", "gpu": "RX 7800 XT"})"},
    // pytorch PR 140398
    {"device-index", 0.7,
     "ROCR_VISIBLE_DEVICES=\"0\" HIP_VISIBLE_DEVICES=\"0,1\"\n"
     "print(torch.cuda.device_count())\n>>> 2\n",
     R"({"vendor": "AMD"})"},
    // ollama#12062
    {"uma-carveout-small", 0.65,
     "Ollama currently reads *total memory* as VRAM only. This leads to the GPU being flagged as "
     "\"too small\" and skipped\n",
     R"({"vendor": "AMD", "gpu": "AMD Ryzen AI Strix Halo", "gfx": "gfx1151", "vram": "512 MiB"})"},
    {"gfx-target-missing", 0.9, "INTERNAL: Failed to load HSACO: HIP_ERROR_NoBinaryForGpu\n",
     R"({"vendor": "AMD", "gpu": "RX 6700 XT"})"},
    // Less than 1 GiB is no card's memory, so an integrated GPU is there.
    {"igpu-selected", 0.75,
     "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
     "capacity of 512.00 MiB of which 100.00 MiB is free.\n",
     R"({"vendor": "AMD", "gpu": "RX 7900 XTX + Ryzen iGPU"})"},
};
INSTANTIATE_TEST_SUITE_P(GpuCode, InstallationForm, ::testing::ValuesIn(gpu_code));

constexpr Form drivers[] = {
    // legacy#5616
    {"firmware-bad", 0.75,
     "It always fails with latest firmware (20251125). It does not happen with 20251111.\n"
     "Memory access fault by GPU node-1 (Agent handle: 0x55) on address 0x7ff96a9ac000. Reason: "
     "Page not present or supervisor privilege\n",
     R"({"vendor": "AMD"})"},
    {"driver-not-loaded", 0.9,
     "Error! The dkms.conf for this module includes a BUILD_EXCLUSIVE directive which does not "
     "match "
     "this kernel/arch. Building module amdgpu\n",
     R"({"vendor": "AMD"})"},
    {"device-permission", 0.65, "rocminfo shows the GPU only with sudo\n", R"({"vendor": "AMD"})"},
    {"kernel-too-old", 0.65,
     "It works after upgrading the kernel to 6.12. On 6.8 rocminfo does not list the GPU\n",
     R"({"vendor": "AMD", "gpu": "RX 9070 XT", "kernel": "6.8"})"},
};
INSTANTIATE_TEST_SUITE_P(Drivers, InstallationForm, ::testing::ValuesIn(drivers));

constexpr Form healthy[] = {
    // legacy#1227
    {"none", 0.8,
     "libkmod: ERROR ../libkmod/libkmod-module.c:1931 kmod_module_get_holders: could not open "
     "'/sys/module/windrvr6/holders': No such file or directory\n"
     "  Name:                    gfx803\n",
     R"({"vendor": "AMD"})"},
    // bitsandbytes logs its error and the program goes on.
    {"none", 0.8,
     "[bitsandbytes.cextension|ERROR]bitsandbytes library load error: Configured ROCm binary not "
     "found at /venv/bitsandbytes/libbitsandbytes_rocm82.so\n"
     "Traceback (most recent call last):\n"
     "  File \"/venv/bitsandbytes/cextension.py\", line 320, in <module>\n"
     "RuntimeError: Configured ROCm binary not found at "
     "/venv/bitsandbytes/libbitsandbytes_rocm82.so\n"
     "Unsloth: Will patch your computer to enable 2x faster free finetuning.\n",
     R"({"vendor": "AMD"})"},
    {"none", 0.6,
     "  Name:                    gfx1100\n  Marketing Name:          AMD Radeon RX 7900 XTX\n"
     "  Device Type:             GPU\n",
     R"({"vendor": "AMD"})"},
    {"none", 0.6,
     "$ cat /sys/class/drm/card1/device/mem_info_gtt_total\n103079215104\n"
     "ROCm agrees: llama.cpp reports Total VRAM: 98304 MiB.\n",
     R"({"vendor": "AMD", "gpu": "Ryzen AI MAX+ 395"})"},
    {"none", 0.7, "| llama 7B Q4_0 | 3.56 GiB | 6.74 B | ROCm | 99 | pp512 | 3050.12 ± 10.3 |\n",
     R"({"vendor": "AMD"})"},
};
INSTANTIATE_TEST_SUITE_P(Healthy, InstallationForm, ::testing::ValuesIn(healthy));

TEST(InstallationForms, an_unstable_release_and_an_unfinished_kernel_prove_no_regression) {
  const LogDiagnosis diagnosis =
      diagnose("torch.AcceleratorError: HIP error: unspecified launch failure\n",
               R"({"vendor": "AMD", "gpu": "Radeon RX 9070 XT", "rocm": "7.1"})");
  EXPECT_NE(diagnosis.cause.id, "rocm-regression");
  EXPECT_LE(diagnosis.cause.confidence, 0.7);
}

TEST(InstallationForms, a_listing_with_words_of_trouble_is_not_called_healthy) {
  const LogDiagnosis diagnosis = diagnose(
      "  Name:                    gfx1100\nThe desktop gets slow, and I do not know why.\n",
      R"({"vendor": "AMD"})");
  EXPECT_EQ(diagnosis.cause.id, "insufficient-evidence");
}

constexpr std::string_view no_kernels =
    "rocBLAS error: Cannot read /opt/app/lib/rocblas/library/TensileLibrary.dat: No such file or "
    "directory for GPU arch : gfx1100\n List of available TensileLibrary Files :\n";

TEST(InstallationForms, rocblas_without_any_kernels_lacks_its_folder_and_not_a_target) {
  const LogDiagnosis diagnosis =
      diagnose(std::string(no_kernels) + "\nAborted (core dumped)\n", R"({"vendor": "AMD"})");
  EXPECT_EQ(diagnosis.cause.id, "missing-library");
}

TEST(InstallationForms, a_list_of_kernels_that_is_cut_off_says_nothing) {
  EXPECT_NE(diagnose(no_kernels, R"({"vendor": "AMD"})").cause.id, "missing-library");
}

constexpr std::string_view served =
    "INFO:     10.0.4.17:40122 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n";
constexpr std::string_view too_long =
    "ValueError: This model's maximum context length is 32768 tokens. However, your request has "
    "33102 input tokens.\n";

TEST(InstallationForms, an_error_that_a_server_answers_with_4xx_is_its_clients) {
  const std::string begun = std::string(served) + std::string(too_long);
  EXPECT_EQ(diagnose(begun +
                         "INFO:     10.0.4.22:51844 - \"POST /v1/chat/completions HTTP/1.1\" 400 "
                         "Bad Request\n" +
                         std::string(served),
                     R"({"vendor": "AMD"})")
                .cause.id,
            "none");
  EXPECT_NE(diagnose(begun, R"({"vendor": "AMD"})").cause.id, "none");
}

TEST(InstallationForms, a_driver_that_is_built_into_the_kernel_is_no_missing_module) {
  const LogDiagnosis diagnosis = diagnose(
      "ROCk module is NOT loaded, possibly no GPU devices\n"
      "[    2.330918] kfd kfd: amdgpu: added device 1002:731f\nPASSED!\n",
      R"({"vendor": "AMD"})");
  EXPECT_EQ(diagnosis.cause.id, "none");
}

TEST(InstallationForms, a_file_of_kernels_that_rocm_brings_is_not_a_missing_target) {
  const LogDiagnosis diagnosis = diagnose(
      "rocBLAS error: Could not load /opt/rocm-6.0.0/lib/rocblas/library/"
      "TensileLibrary_lazy_gfx1100.dat\n",
      R"({"vendor": "AMD", "framework": "torch 2.1.2+rocm5.6"})");
  EXPECT_EQ(diagnosis.cause.id, "rocm-version-mismatch");
}

}  // namespace
}  // namespace headroom::findings
