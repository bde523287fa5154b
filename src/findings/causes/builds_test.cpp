// SPDX-License-Identifier: Apache-2.0
// Builds and kernels: wheels that pip replaced, compilers and linkers, AITER's switches, the
// workspace of convolutions.
#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using ::testing::Contains;
using testing::diagnose;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Builds, bitsandbytes_without_a_gpu_follows_from_a_pytorch_for_cuda) {
  const std::string warned =
      "The installed version of bitsandbytes was compiled without GPU support.\n";
  const auto found = diagnose(warned +
                                  "$ python3 -c 'import torch; print(torch.__version__)'\n"
                                  "torch.__version__: 2.7.1+cu126\n"
                                  "torch.version.hip: None\n"
                                  "CUDA available: False\n",
                              R"({"vendor": "AMD"})");
  EXPECT_EQ(found.cause.id, "wrong-wheel");
  EXPECT_EQ(diagnose(warned, R"({"vendor": "AMD"})").cause.id, "bitsandbytes-no-rocm");
}

// ------------------------------------------------------------------ a wheel that was replaced

constexpr std::string_view replaced =
    "$ pip install xformers\n"
    "Collecting torch==2.9.0 (from xformers)\n"
    "  Downloading torch-2.9.0-cp312-cp312-manylinux_2_28_x86_64.whl (899.8 MB)\n"
    "  Attempting uninstall: torch\n"
    "    Found existing installation: torch 2.9.1+rocm6.4\n"
    "    Uninstalling torch-2.9.1+rocm6.4:\n"
    "      Successfully uninstalled torch-2.9.1+rocm6.4\n"
    "Successfully installed nvidia-cuda-nvrtc-cu12-12.8.93 torch-2.9.0 xformers-0.0.33\n";

TEST(Builds, an_image_for_cuda_is_told_by_its_name) {
  const auto run_in = [](const std::string& image) {
    return diagnose("$ docker run --rm --device /dev/kfd --device /dev/dri " + image +
                        " --model Qwen/Qwen3-8B\n"
                        "INFO 11-05 12:00:25 [__init__.py:216] No platform detected, vLLM is "
                        "running on UnspecifiedPlatform\n"
                        "RuntimeError: Failed to infer device type\n",
                    R"({"vendor": "AMD", "gpu": "RX 7900 XTX"})");
  };
  const auto cuda = run_in("vllm/vllm-openai:latest");
  EXPECT_EQ(cuda.cause.id, "wrong-wheel");
  EXPECT_EQ(cuda.cause.title, "The image vllm/vllm-openai:latest is built for CUDA");
  EXPECT_NE(run_in("rocm/vllm:latest").cause.id, "wrong-wheel");
  EXPECT_NE(run_in("vllm/vllm-openai-rocm:v0.14.0").cause.id, "wrong-wheel");
}

TEST(ReplacedWheel, the_package_that_did_it_is_named) {
  const auto found =
      diagnose(std::string(replaced) + "AssertionError: Torch not compiled with CUDA enabled\n");
  EXPECT_EQ(found.cause.id, "wrong-wheel");
  EXPECT_GE(found.cause.confidence, 0.9);
  EXPECT_THAT(found.cause.title, HasSubstr("xformers"));
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("torch==2.9.1+rocm6.4")));
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("--no-deps xformers")));
}

TEST(ReplacedWheel, uv_says_it_in_its_own_way) {
  const auto found = diagnose(
      "Installed 3 packages in 1.2s\n"
      " - torch==2.9.1+rocm6.4\n"
      " + torch==2.9.0+cpu\n"
      "RuntimeError: Found no NVIDIA driver on your system.\n");
  EXPECT_EQ(found.cause.id, "wrong-wheel");
  EXPECT_THAT(found.cause.title, HasSubstr("2.9.1+rocm6.4"));
}

TEST(ReplacedWheel, one_build_for_rocm_for_another_is_no_mistake) {
  const auto found = diagnose(
      "    Found existing installation: torch 2.9.1+rocm6.4\n"
      "Successfully installed torch-2.10.0+rocm7.1\n"
      "100%|##########| 20/20 [00:12<00:00,  1.61it/s]\n");
  EXPECT_NE(found.cause.id, "wrong-wheel");
}

TEST(ReplacedWheel, what_was_put_right_again_is_over) {
  const auto found = diagnose(std::string(replaced) +
                              "    Found existing installation: torch 2.9.0\n"
                              "Successfully installed torch-2.9.1+rocm6.4\n"
                              "100%|##########| 20/20 [00:12<00:00,  1.61it/s]\n");
  EXPECT_LT(confidence_of(found, "wrong-wheel"), 0.6);
}

// ------------------------------------------------------------------ compilers and linkers

TEST(Compilers, a_linker_that_is_not_installed_is_missing) {
  EXPECT_EQ(diagnose("  [1/12] /opt/rocm/bin/hipcc -O3 --offload-arch=gfx1100 -c fmha.hip\n"
                     "  clang++: error: unable to execute command: Executable \"ld.lld\" doesn't "
                     "exist!\n"
                     "  clang++: error: linker command failed with exit code 1\n")
                .cause.id,
            "missing-library");
}

TEST(Compilers, device_libraries_of_another_release_lack_symbols) {
  const auto found = diagnose(
      "/opt/rocm/bin/hipcc --offload-arch=gfx1100 x.hip\n"
      "ld.lld: error: undefined hidden symbol: __ockl_fprintf_stderr_begin\n"
      ">>> referenced by x.bc\n"
      "clang++: error: amdgcn-link command failed with exit code 1 (use -v to see invocation)\n");
  EXPECT_EQ(found.cause.id, "rocm-version-mismatch");
  EXPECT_LT(found.cause.confidence, 0.8);
}

TEST(Compilers, a_symbol_of_the_programs_own_is_not_rocms) {
  EXPECT_NE(diagnose("/opt/rocm/bin/hipcc --offload-arch=gfx1100 x.hip\n"
                     "ld.lld: error: undefined symbol: my_kernel(float*)\n")
                .cause.id,
            "rocm-version-mismatch");
}

TEST(Compilers, comgr_without_device_libraries_lacks_them) {
  EXPECT_EQ(diagnose("MIOpen(HIP): Error [BuildOcl] comgr status = ERROR (1)\n"
                     "error: cannot find ROCm device library; provide its path via '--rocm-path'\n"
                     "RuntimeError: miopenStatusUnknownError\n")
                .cause.id,
            "missing-library");
}

TEST(Compilers, one_that_does_not_know_the_gpu_is_of_an_older_rocm) {
  const auto found = diagnose(
      "error: amd_comgr: unknown target CPU 'gfx1152'\n"
      "hiprtcCompileProgram failed: HIPRTC_ERROR_COMPILATION\n");
  EXPECT_EQ(found.cause.id, "gfx-target-missing");
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("Use a newer ROCm")));
  EXPECT_THAT(texts_of(found.cause.fix), Not(Contains(HasSubstr("Leave this package out"))));
}

// ------------------------------------------------------------------ AITER

TEST(Aiter, a_kernel_that_does_not_fit_is_the_switchs_doing) {
  const auto found = diagnose(
      "export VLLM_ROCM_USE_AITER=1\n"
      "INFO 08-15 [rocm.py:220] Using AITER unified attention backend\n"
      "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 65792, "
      "Hardware limit: 65536. Reducing block sizes or `num_stages` may help.\n"
      "GPU: AMD Radeon AI PRO R9700 gfx1201\n");
  EXPECT_EQ(found.cause.id, "unsupported-option");
  EXPECT_GE(found.cause.confidence, 0.8);
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("VLLM_ROCM_USE_AITER=0")));
}

TEST(Aiter, a_crash_right_after_its_module_was_loaded_is_its_own) {
  const auto found = diagnose(
      "$ VLLM_ROCM_USE_AITER=1 vllm serve m\n"
      "[aiter] import [module_rmsnorm] under /usr/lib/python3/aiter/jit/module_rmsnorm.so\n"
      "!!!!!!! Segfault encountered !!!!!!!\n"
      "gfx1201\n");
  EXPECT_EQ(found.cause.id, "unsupported-option");
}

TEST(Aiter, its_own_refusal_is_enough) {
  EXPECT_EQ(diagnose("RuntimeError: Get GPU arch from rocminfo failed \"Unknown GPU architecture: "
                     "gfx1201. Supported architectures: ['native', 'gfx90a', 'gfx942']\"\n")
                .cause.id,
            "unsupported-option");
}

TEST(Aiter, an_error_in_its_own_code_is_the_switchs_doing_where_it_is_not_made_for_the_card) {
  const auto serve = [](const char* value, const char* card) {
    return diagnose(std::string("export VLLM_ROCM_USE_AITER=") + value +
                    "\n"
                    "Traceback (most recent call last):\n"
                    "  File \"/v/site-packages/aiter/jit/core.py\", line 566, in build_module\n"
                    "RuntimeError: [aiter] build [module_fmha_v3_fwd] failed\n" +
                    card + "\n");
  };
  const auto forced = serve("1", "AMD Radeon AI PRO R9700 gfx1201");
  EXPECT_EQ(forced.cause.id, "unsupported-option");
  EXPECT_GE(forced.cause.confidence, 0.75);
  EXPECT_NE(serve("0", "AMD Radeon AI PRO R9700 gfx1201").cause.id, "unsupported-option");
  EXPECT_NE(serve("1", "AMD Instinct MI300X gfx942").cause.id, "unsupported-option");
}

TEST(Aiter, a_kernel_of_the_jobs_own_that_does_not_fit_is_not_aiters) {
  const auto found = diagnose(
      "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 65792, "
      "Hardware limit: 65536. Reducing block sizes or `num_stages` may help.\n"
      "gfx1201\n");
  EXPECT_NE(found.cause.id, "unsupported-option");
}

TEST(Aiter, going_on_without_it_is_no_failure) {
  const auto found = diagnose(
      "INFO 11-02 [envs] VLLM_ROCM_USE_AITER=1\n"
      "WARNING AITER is not found or not supported on the current platform, will fall back to "
      "emulation.\n"
      "INFO 11-02 [api_server.py] Application startup complete.\n"
      "INFO:     127.0.0.1:38776 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n"
      "gfx1100\n");
  EXPECT_EQ(found.cause.id, "none");
}

// ------------------------------------------------------------------ convolutions

constexpr std::string_view too_much =
    "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 13.50 GiB. GPU 0 has a total "
    "capacity of 15.92 GiB of which 9.10 GiB is free. Of the allocated memory 5.20 GiB is "
    "allocated "
    "by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.\n";

TEST(Convolutions, a_spike_while_decoding_is_met_with_fast_find_and_tiles) {
  const auto found = diagnose(
      "Requested to load AutoencoderKL\n"
      "MIOpen(HIP): Warning [IsEnoughWorkspace] [GetSolutionsFallback WTI] Solver <GemmFwdRest>, "
      "workspace required: 14495514624, provided ptr: 0 size: 0\n"
      "Warning: Ran out of memory when regular VAE decoding, retrying with tiled VAE decoding.\n" +
      std::string(too_much) + "    return F.conv2d(input, weight, bias)\n");
  EXPECT_EQ(found.cause.id, "job-too-big");
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("MIOPEN_FIND_MODE=FAST")));
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("VAE Decode (Tiled)")));
}

TEST(Convolutions, a_job_without_them_is_not_told_of_them) {
  const auto found = diagnose(std::string(too_much) + "    scores = torch.matmul(q, k)\n");
  EXPECT_THAT(texts_of(found.cause.fix), ::testing::Not(Contains(HasSubstr("MIOPEN_FIND_MODE"))));
}

TEST(Convolutions, a_workspace_that_was_done_without_is_harmless) {
  const auto found = diagnose(
      "MIOpen(HIP): Warning [IsEnoughWorkspace] [EvaluateInvokers] Solver <GemmFwdRest>, workspace "
      "required: 268435456, provided ptr: 0 size: 0\n"
      "100%|##########| 20/20 [00:12<00:00,  1.61it/s]\n");
  EXPECT_EQ(found.cause.id, "none");
}

TEST(Builds, amds_provider_that_the_build_lacks_is_missed_though_the_cpu_stands_in) {
  const std::string warned =
      "UserWarning: Specified provider 'ROCMExecutionProvider' is not in available provider names."
      "Available providers: 'CUDAExecutionProvider, CPUExecutionProvider'\n";
  const std::string work = "\n\n\n100 images: 11.8 s\n100%|###| 9/9 [00:13<00:00,  1.50s/it]\n";
  const std::string other =
      "Failed to load library libonnxruntime_providers_cuda.so with error: libcublasLt.so.12: "
      "cannot open shared object file: No such file or directory\n";
  const auto found = diagnose("torch 2.4.1+rocm6.1\n" + warned + work + other,
                              R"({"vendor": "AMD", "gfx": "gfx1100"})");
  EXPECT_EQ(found.cause.id, "backend-unavailable");
}

TEST(Compilers, a_header_of_cuda_in_a_build_for_rocm_is_the_packages_own_slip) {
  constexpr std::string_view of_rocm = R"({"vendor": "AMD", "rocm": "6.0"})";
  for (const char* line :
       {"csrc/blas_utils_hip.h:18:10: fatal error: mma.h: No such file or directory\n",
        "csrc/sort_hip.h:4:10: fatal error: 'cuda/std/limits' file not found\n",
        "csrc/gemm_test_hip.h:68:9: error: use of undeclared identifier 'rocblas_create_handle'\n",
        "amd_warp_sync_functions.h:235:52: error: static assertion failed due to requirement "
        "'sizeof(unsigned int) == 8': The mask must be a 64-bit integer. Implicitly promoting\n"}) {
    EXPECT_EQ(diagnose(line, of_rocm).cause.id, "framework-bug") << line;
  }
}

TEST(Compilers, a_header_of_rocm_that_is_not_there_is_still_missing) {
  EXPECT_EQ(diagnose("op.hip:3:10: fatal error: hipblas/hipblas.h: No such file or directory\n",
                     R"({"vendor": "AMD", "rocm": "6.0"})")
                .cause.id,
            "missing-library");
}

TEST(Libraries, what_a_release_gave_up_within_its_major_one_is_of_an_earlier_build) {
  const std::string missing =
      "ImportError: libmcwamp.so.3: cannot open shared object file: No such file or directory\n";
  EXPECT_EQ(diagnose(missing, R"({"vendor": "AMD", "rocm": "3.7"})").cause.id,
            "rocm-version-mismatch");
  EXPECT_EQ(diagnose(missing, R"({"vendor": "AMD", "rocm": "3.3"})").cause.id, "missing-library");
}

TEST(Libraries, a_listing_has_the_wanted_one_under_another_number) {
  const std::string wanted = "The plugin needs `libamdhip64.so.6` and does not start.\n";
  constexpr std::string_view amd = R"({"vendor": "AMD"})";
  const auto found = diagnose(wanted + "$ ls /opt/rocm/lib | grep amdhip\nlibamdhip64.so.7\n", amd);
  EXPECT_EQ(found.cause.id, "rocm-version-mismatch");
  EXPECT_THAT(found.cause.title, ::testing::HasSubstr("libamdhip64.so.7 is installed"));
  EXPECT_NE(
      diagnose(wanted + "$ ls /opt/rocm/lib\nlibamdhip64.so.6\nlibamdhip64.so.7\n", amd).cause.id,
      "rocm-version-mismatch");
}

}  // namespace
}  // namespace headroom::findings
