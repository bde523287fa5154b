// SPDX-License-Identifier: Apache-2.0
// Causes that no single line names: a second line, often of another command, tells which it is.
#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;

constexpr std::string_view amd = R"({"vendor": "AMD"})";

TEST(ToldByNeighbours, nvidias_packages_tell_which_pytorch_pip_installed) {
  const auto installs = [](const std::string& package) {
    return diagnose(
        "Looking in indexes: https://pypi.org/simple, https://download.pytorch.org/whl/rocm5.1.1\n"
        "Collecting torch\nCollecting " +
            package +
            "\n"
            "Successfully installed torch-2.0.0 torchvision-0.15.1 triton-2.0.0\n"
            "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\n"
            "AssertionError: Torch is not able to use GPU\n",
        R"({"gpu": "RX 6800 XT"})");
  };
  EXPECT_EQ(installs("nvidia-cublas-cu11==11.10.3.66").cause.id, "wrong-wheel");
  EXPECT_LT(confidence_of(installs("pytorch-triton-rocm==2.0.1"), "wrong-wheel"), 0.5);
}

TEST(ToldByNeighbours, bitsandbytes_has_the_library_of_another_rocm) {
  const std::string asks =
      "Could not find the bitsandbytes ROCm binary at PosixPath('/b/libbitsandbytes_rocm63.so')\n";
  constexpr std::string_view torch = R"({"framework": "torch 2.7.1+rocm6.3"})";
  const std::string built =
      "[100%] Linking HIP shared library bitsandbytes/libbitsandbytes_rocm64.so\n";
  EXPECT_EQ(diagnose(built + asks, torch).cause.id, "rocm-version-mismatch");
  EXPECT_EQ(diagnose(asks, torch).cause.id, "bitsandbytes-no-rocm");
}

TEST(ToldByNeighbours, bitsandbytes_from_before_rocm_looks_for_cuda) {
  const auto found = diagnose(
      "Traceback (most recent call last):\n"
      "  File \"/v/site-packages/bitsandbytes/cuda_setup/main.py\", line 341, in get_cuda_version\n"
      "    major, minor = map(int, torch.version.cuda.split(\".\"))\n"
      "AttributeError: 'NoneType' object has no attribute 'split'\n",
      R"({"framework": "torch 2.2.0+rocm5.7"})");
  EXPECT_EQ(found.cause.id, "bitsandbytes-no-rocm");
}

TEST(ToldByNeighbours, nan_that_goes_without_bitsandbytes) {
  const std::string nan = "{'loss': nan, 'grad_norm': nan, 'epoch': 0.01}\n";
  EXPECT_EQ(diagnose(nan + "The notebooks that do not use bitsandbytes are not affected.\n", amd)
                .cause.id,
            "bitsandbytes-no-rocm");
  EXPECT_NE(diagnose(nan, amd).cause.id, "bitsandbytes-no-rocm");
}

TEST(ToldByNeighbours, hipblaslt_is_used_although_it_is_off) {
  const std::string refused =
      "RuntimeError: Attempting to use hipBLASLt on a unsupported architecture!\n";
  const std::string off = "$ export TORCH_BLAS_PREFER_HIPBLASLT=0\n$ python train.py\n";
  EXPECT_EQ(diagnose(refused + off + refused, R"({"gfx": "gfx908"})").cause.id, "framework-bug");
  EXPECT_EQ(diagnose(refused + off, R"({"gfx": "gfx908"})").cause.id, "unsupported-option");
}

TEST(ToldByNeighbours, a_symbol_of_rccl_is_of_another_release) {
  const auto lacks = [](const char* symbol) {
    return diagnose(std::string("ImportError: /p/torch/lib/libtorch_hip.so: undefined symbol: ") +
                        symbol + "\n",
                    amd)
        .cause.id;
  };
  EXPECT_EQ(lacks("ncclGetLastError"), "rocm-version-mismatch");
  EXPECT_NE(lacks("gsl_vector_alloc"), "rocm-version-mismatch");
}

TEST(ToldByNeighbours, a_crash_inside_rocms_compiler_is_rocms) {
  const auto in = [](const char* library) {
    return diagnose(std::string("Segmentation fault (core dumped)\n"
                                "llama-bench[21877]: segfault at 18 ip 00007f6ab1d30c14 sp "
                                "00007ffd0e4c9a10 error 4 in ") +
                        library + "[5930c14,7f6aac6ae000+5ab3000]\n",
                    R"({"gfx": "gfx1100", "rocm": "7.1.1"})")
        .cause.id;
  };
  EXPECT_EQ(in("libamd_comgr.so.3.0"), "rocm-regression");
  EXPECT_EQ(in("libggml-hip.so"), "framework-bug");
}

TEST(ToldByNeighbours, a_variable_that_is_not_exported_is_not_set) {
  const auto with = [](const std::string& printed) {
    return diagnose(
        "$ HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
        "$ env | grep HSA\n" +
            printed +
            "$ ./invoke.sh\nGPU device = cuda AMD Radeon RX 6600 XT\n"
            "Segmentation fault (core dumped)\n",
        R"({"gfx": "gfx1032", "framework": "torch 2.2.1+rocm5.7"})");
  };
  EXPECT_EQ(with("").cause.id, "gfx-target-missing");
  EXPECT_NE(with("HSA_OVERRIDE_GFX_VERSION=10.3.0\n").cause.id, "gfx-target-missing");
}

TEST(ToldByNeighbours, pytorch_that_dies_beside_an_integrated_gpu) {
  const std::string agents = "  Name:                    gfx1030\n";
  const std::string dies =
      "GPU device = cuda AMD Radeon RX 6900 XT\nSegmentation fault (core dumped)\n";
  EXPECT_EQ(diagnose(agents + "  Name:                    gfx1036\n" + dies, amd).cause.id,
            "igpu-selected");
  EXPECT_NE(diagnose(agents + dies, amd).cause.id, "igpu-selected");
}

TEST(ToldByNeighbours, a_render_node_of_a_group_that_the_user_lacks) {
  const auto groups = [](const std::string& list) {
    return diagnose(
               "Failed to inject frame into filter network: Input/output error\n"
               "crw-rw---- 1 root render 226, 128 Feb  3 09:12 renderD128\n"
               "uid=1000(abc) gid=1000(abc) groups=" +
                   list + "\n",
               amd)
        .cause.id;
  };
  EXPECT_EQ(groups("1000(abc),44(video)"), "device-permission");
  EXPECT_NE(groups("1000(abc),109(render)"), "device-permission");
  EXPECT_NE(groups("1000(abc),109"), "device-permission");  // A group without a name here.
}

TEST(ToldByNeighbours, koboldcpp_without_the_tool_that_lists_gpus) {
  const std::string blind = "Unable to detect VRAM, please set layers manually.\n";
  EXPECT_EQ(diagnose(blind + "bash: vulkaninfo: command not found\n", amd).cause.id,
            "missing-library");
  EXPECT_NE(diagnose(blind, amd).cause.id, "missing-library");
}

TEST(ToldByNeighbours, a_firmware_that_the_chip_does_not_start) {
  const std::string refused =
      "[    3.1] amdgpu 0000:35:00.0: failed to load ucode DMCUB(0x3F)\n"
      "[    3.1] amdgpu 0000:35:00.0: psp gfx command LOAD_IP_FW(0x6) failed and response status "
      "is "
      "(0xFFFF000D)\n";
  EXPECT_EQ(diagnose(refused).cause.id, "firmware-bad");
  const std::string reset = "[    2.9] amdgpu 0000:35:00.0: amdgpu: GPU reset begin!\n";
  EXPECT_NE(diagnose(reset + refused).cause.id, "firmware-bad");
  EXPECT_NE(diagnose("amdgpu 0000:35:00.0: psp gfx command LOAD_TA(0x1) failed and response status "
                     "is (0x7)\n")
                .cause.id,
            "firmware-bad");
}

TEST(ToldByNeighbours, a_second_boot_with_the_firmware_alone_taken_back) {
  const std::string dark = "amdgpu 0000:c2:00.0: [drm] *ERROR* DC: failed to blank crtc!\n";
  EXPECT_EQ(diagnose(dark + "second boot, linux 7.0.9 and mesa kept, linux-firmware-amdgpu back at "
                            "20260410-1: it comes up\n",
                     amd)
                .cause.id,
            "firmware-bad");
}

TEST(ToldByNeighbours, cycles_has_no_kernels_for_the_card) {
  EXPECT_EQ(
      diagnose("Error: HIP binary kernel for this graphics card compute capability (11.0) not "
               "found.\n",
               R"({"gpu": "RX 7800 XT"})")
          .cause.id,
      "gfx-target-missing");
}

}  // namespace
}  // namespace headroom::findings
