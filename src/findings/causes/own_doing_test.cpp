// SPDX-License-Identifier: Apache-2.0
// Failures that a program, a package's build or a release of ROCm brings about by itself, and what
// only looks like them.
#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;

constexpr std::string_view amd = R"({"vendor": "AMD"})";

const std::string no_distributed =
    "  File \"C:\\venv\\Lib\\site-packages\\torch\\distributed\\distributed_c10d.py\", line 23, in "
    "<module>\n"
    "    from torch._C._distributed_c10d import (\n"
    "ModuleNotFoundError: No module named 'torch._C._distributed_c10d'; 'torch._C' is not a "
    "package\n";

TEST(OwnDoing, a_library_that_imports_distributed_unasked_is_at_fault) {
  const std::string head =
      "Traceback (most recent call last):\n  File \"main.py\", line 1, in <module>\n";
  for (const std::string library : {"accelerate", "transformers", "peft"}) {
    const auto found = diagnose(head + "  File \"C:\\venv\\Lib\\site-packages\\" + library +
                                    "\\utils.py\", line 41, in <module>\n" + no_distributed,
                                amd);
    EXPECT_EQ(found.cause.id, "framework-bug") << library;
  }
  // The program's own import asks for what the build does not have.
  EXPECT_EQ(diagnose(head + no_distributed, amd).cause.id, "backend-unavailable");
}

TEST(OwnDoing, torchao_is_named_from_ipythons_frames_too) {
  const auto found = diagnose(
      "File c:\\venv\\Lib\\site-packages\\torchao\\float8\\fsdp_utils.py:13\n"
      "---> 14 from torch.distributed._tensor import DTensor\n"
      "File c:\\venv\\Lib\\site-packages\\torch\\distributed\\_functional_collectives.py:10\n"
      "ModuleNotFoundError: No module named 'torch._C._distributed_c10d'; 'torch._C' is not a "
      "package\n",
      amd);
  EXPECT_EQ(found.cause.id, "torchao-incompatible");
}

TEST(OwnDoing, a_build_script_that_knows_cuda_alone) {
  const auto found = diagnose(
      "Version: 2.5.1+rocm6.2\n"
      "  File \"/src/op_builder/ops.py\", line 32, in include_paths\n"
      "    return [os.path.join(torch.utils.cpp_extension.CUDA_HOME, \"include\")]\n"
      "TypeError: expected str, bytes or os.PathLike object, not NoneType\n",
      R"({"vendor": "AMD", "rocm": "6.2"})");
  EXPECT_EQ(found.cause.id, "framework-bug");
}

TEST(OwnDoing, a_processor_that_is_counted_as_a_gpu) {
  const auto found = diagnose(
      "level=INFO msg=\"detected amdgpu versions [gfx000 gfx000 gfx1030]\"\n"
      "level=WARN msg=\"amdgpu [0] gfx000 is not supported by /tmp/rocm [gfx1030 gfx1100]\"\n"
      "level=INFO msg=\"Setting HIP_VISIBLE_DEVICES=2\"\n"
      "ggml_init_cublas: failed to initialize ROCm: no ROCm-capable device is detected\n",
      amd);
  EXPECT_EQ(found.cause.id, "framework-bug");
  EXPECT_LT(confidence_of(found, "gfx-target-missing"), 0.3);
}

TEST(OwnDoing, a_bisection_outweighs_the_lack_of_memory) {
  const std::string oom =
      "HIP out of memory. Tried to allocate 108.00 MiB. GPU 0 has a total capacity of 15.98 GiB of "
      "which 62.00 MiB is free. Of the allocated memory 15.30 GiB is allocated by PyTorch\n";
  EXPECT_EQ(
      diagnose(oom + "87bd3471167b6f80697e8837ed3f4565b8bc7b6d is the first bad commit\n", amd)
          .cause.id,
      "framework-bug");
  // A commit of the kernel is no program's.
  EXPECT_NE(diagnose(oom + "87bd3471167b6f80697e8837ed3f4565b8bc7b6d is the first bad commit\n"
                           "    drm/amdgpu: rework the eviction of buffers\n",
                     amd)
                .cause.id,
            "framework-bug");
}

TEST(OwnDoing, a_kernel_that_rocblas_refuses_is_the_releases) {
  const std::string threw =
      "rocBLAS error: Tensile solution found, but exception thrown for { a_type: \"f16_r\" }\n"
      "Alpha value 1.5 doesn't match that set in problem: 1\nAborted (core dumped)\n";
  const auto known = diagnose(threw, R"({"vendor": "AMD", "rocm": "6.2.4"})");
  EXPECT_EQ(known.cause.id, "rocm-regression");
  const auto told = diagnose("It worked until Arch moved to ROCm 6.9.\n" + threw, amd);
  EXPECT_EQ(told.cause.id, "rocm-regression");
  EXPECT_GT(told.cause.confidence, diagnose(threw, amd).cause.confidence);
}

TEST(OwnDoing, sources_without_code_for_the_target) {
  EXPECT_EQ(diagnose("ck_tile/core/arch/amd_buffer_addressing.hpp:33:48: error: use of undeclared "
                     "identifier 'CK_TILE_BUFFER_RESOURCE_3RD_DWORD'\n"
                     "1 error generated when compiling for gfx1150.\n",
                     amd)
                .cause.id,
            "gfx-target-missing");
  EXPECT_EQ(diagnose("kernel.hip:12:3: error: '__builtin_amdgcn_mfma_f32_32x32x8f16' needs target "
                     "feature mai-insts\n"
                     "1 error generated when compiling for gfx1030.\n",
                     amd)
                .cause.id,
            "gfx-target-missing");
  // A slip in the sources is not about the target.
  EXPECT_NE(diagnose("kernel.hip:12:3: error: use of undeclared identifier 'blokDim'\n"
                     "1 error generated when compiling for gfx1030.\n",
                     amd)
                .cause.id,
            "gfx-target-missing");
}

TEST(OwnDoing, a_compilers_warnings_are_harmless) {
  const auto found = diagnose(
      "ggml-cuda.cu:5560:24: warning: loop not unrolled: the optimizer was unable to perform the "
      "requested transformation [-Wpass-failed=transform-warning]\n"
      "27 warnings generated when compiling for gfx906.\n",
      amd);
  EXPECT_EQ(found.cause.id, "none");
}

TEST(OwnDoing, an_error_that_is_said_not_to_be_there_is_none) {
  const auto found = diagnose(
      "[05/10/26 09:16:55] ERROR    Worker (pid:17) was sent SIGSEGV!\n"
      "[05/10/26 09:16:55] INFO     Booting worker with pid: 211\n"
      "[05/10/26 09:19:38] ERROR    Worker (pid:211) was sent SIGSEGV!\n"
      "[05/10/26 09:19:38] INFO     Booting worker with pid: 402\n"
      "It is not an hipErrorInvalidDeviceFunction, the kernels are there.\n",
      R"({"vendor": "AMD", "gfx": "gfx1150"})");
  EXPECT_EQ(found.cause.id, "crash-loop");
}

TEST(OwnDoing, a_queue_that_is_not_given_back_on_a_chip_known_for_it) {
  const std::string lines =
      "amdgpu 0000:c4:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE\n"
      "amdgpu 0000:c4:00.0: amdgpu: failed to remove hardware queue from MES, doorbell=0x1006\n"
      "amdgpu 0000:c4:00.0: amdgpu: GPU reset begin!. Source:  3\n";
  EXPECT_EQ(diagnose(lines, R"({"vendor": "AMD", "gfx": "gfx1103"})").cause.id, "firmware-bad");
  EXPECT_EQ(diagnose(lines, R"({"vendor": "AMD", "gfx": "gfx1100"})").cause.id, "gpu-hang");
}

TEST(OwnDoing, a_wheels_runtime_on_the_systems) {
  const auto found = diagnose(
      "#0  0x00007fff610f67c9 in rocr::AMD::hsa_amd_memory_lock_to_pool () from "
      "/usr/lib64/libhsa-runtime64.so.1\n"
      "#1  0x00007fff614a2b10 in roc::Device::hostLock () from "
      "/srv/venv/lib/python3.10/site-packages/torch/lib/libamdhip64.so\n"
      "Segmentation fault (core dumped)\n",
      amd);
  EXPECT_EQ(found.cause.id, "rocm-version-mismatch");
}

TEST(OwnDoing, a_wheel_that_is_older_than_the_card) {
  const std::string died = "torch  2.0.1+rocm5.4.2\nSegmentation fault (core dumped)\n";
  EXPECT_EQ(diagnose(died, R"({"vendor": "AMD", "gfx": "gfx1101"})").cause.id,
            "gfx-target-missing");
  EXPECT_NE(diagnose(died, R"({"vendor": "AMD", "gfx": "gfx1030"})").cause.id,
            "gfx-target-missing");
}

TEST(OwnDoing, managed_memory_that_waits_without_xnack) {
  const auto found = diagnose(
      "$ timeout 60 ./managed; echo rc=$?\n"
      "rc=124\n"
      "$ HSA_XNACK=1 ./managed; echo rc=$?\n"
      "PASSED\n"
      "rc=0\n",
      amd);
  EXPECT_EQ(found.cause.id, "managed-memory");
}

TEST(OwnDoing, python_against_the_wheels_that_exist) {
  const std::string none =
      "ERROR: Could not find a version that satisfies the requirement tensorflow-rocm (from "
      "versions: none)\n";
  EXPECT_EQ(diagnose("Python 3.13.1\n" + none, amd).cause.id, "python-version-unsupported");
  const std::string folder =
      "Looking in links: https://repo.radeon.com/rocm/manylinux/rocm-rel-6.2/\n";
  const auto newer = diagnose("Python 3.11.9\n" + folder + none, amd);
  EXPECT_EQ(newer.cause.id, "python-version-unsupported");
  EXPECT_GE(newer.cause.confidence, 0.9);
  // Wheels for this Python are there: another index, or no network.
  EXPECT_LT(confidence_of(diagnose("Python 3.10.12\n" + folder + none, amd),
                          "python-version-unsupported"),
            0.6);
}

TEST(OwnDoing, an_apu_of_which_only_the_carve_out_is_counted) {
  const std::string head =
      "msg=\"inference compute\" id=0 library=rocm compute=gfx1103 driver=0.0 name=1002:15bf "
      "total=\"2.0 GiB\" available=\"1.8 GiB\"\n"
      "msg=\"system memory\" total=\"30.1 GiB\" free=\"27.0 GiB\" free_swap=\"8.0 GiB\"\n";
  const std::string plan = "msg=\"offload to rocm\" layers.requested=-1 layers.model=33 ";
  const std::string rest =
      " layers.split=\"\" memory.available=\"[1.8 GiB]\" memory.required.full=\"6.2 GiB\"\n";
  constexpr std::string_view apu = R"({"vendor": "AMD", "gfx": "gfx1103"})";
  EXPECT_EQ(diagnose(head + plan + "layers.offload=5" + rest, apu).cause.id, "uma-carveout-small");
  EXPECT_NE(diagnose(head + plan + "layers.offload=33" + rest, apu).cause.id, "uma-carveout-small");
}

TEST(FrameworkBug, a_library_takes_the_back_ends_name_for_a_part_of_torch) {
  const auto log = [](std::string_view file) {
    return "Traceback (most recent call last):\n"
           "  File \"/app/train.py\", line 3, in <module>\n    import fastattn\n"
           "  File \"" +
           std::string(file) +
           "\", line 80, in <module>\n    backend = getattr(torch, name)\n"
           "AttributeError: module 'torch' has no attribute 'hip'\n";
  };
  constexpr std::string_view card = R"({"vendor": "AMD"})";
  EXPECT_EQ(diagnose(log("/venv/lib/python3.12/site-packages/fastattn/device.py"), card).cause.id,
            "framework-bug");
  EXPECT_EQ(diagnose(log("/app/device.py"), card).cause.id, "app-bug");
}

}  // namespace
}  // namespace headroom::findings
