// SPDX-License-Identifier: Apache-2.0
// Logs from Windows's subsystem for Linux, where no KFD and no amdgpu is the normal state.
#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using ::testing::Contains;
using testing::diagnose;
using ::testing::HasSubstr;

TEST(Wsl, rocminfo_that_finds_no_gpu_is_told_of_the_switch) {
  const auto found = diagnose(
      "$ rocminfo\n"
      "WSL environment detected.\n"
      "hsa_init Failed, possibly no supported GPU devices\n");
  EXPECT_EQ(found.cause.id, "host-without-kfd");
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("HSA_ENABLE_DXG_DETECTION=1")));
}

TEST(Wsl, a_driver_that_is_not_loaded_is_normal_and_not_the_cause) {
  const auto found = diagnose(
      "$ uname -r\n6.6.87.2-microsoft-standard-WSL2\n"
      "$ rocminfo\n"
      "ROCk module is NOT loaded, possibly no GPU devices\n");
  EXPECT_EQ(found.cause.id, "host-without-kfd");
}

TEST(Wsl, a_wheel_with_a_runtime_of_its_own_is_told_from_a_machine_without_a_gpu) {
  const auto found = diagnose(
      "$ uname -r\n6.6.87.2-microsoft-standard-WSL2\n"
      "$ rocminfo | grep gfx\n"
      "  Name:                    gfx1100\n"
      "$ python3 -c \"import torch; print(torch.__version__, torch.cuda.is_available())\"\n"
      "2.8.0+rocm6.4 False\n"
      ">>> torch.cuda.is_available()\n"
      "CUDA available: False\n");
  EXPECT_EQ(found.cause.id, "rocm-version-mismatch");
  EXPECT_THAT(found.cause.title, HasSubstr("WSL"));
}

TEST(Wsl, a_wheel_of_pytorch_org_tells_by_its_version_alone) {
  const std::string wsl = "$ uname -r\n6.6.87.2-microsoft-standard-WSL2\n$ pip list | grep torch\n";
  const std::string asked =
      "$ python3 -c \"import torch; print(torch.cuda.is_available())\"\nFalse\n";
  EXPECT_EQ(diagnose(wsl + "torch 2.8.0+rocm6.4\n" + asked).cause.id, "rocm-version-mismatch");
  EXPECT_NE(diagnose(wsl + "torch 2.8.0+rocm6.4.2.git1b2c3d4e\n" + asked).cause.id,
            "rocm-version-mismatch");
}

TEST(Wsl, a_card_of_before_rdna3_is_not_served) {
  constexpr std::string_view log =
      "WSL 2, ROCm 7.1.0\nCall returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed\n";
  EXPECT_EQ(diagnose(log, R"({"vendor": "AMD", "gpu": "RX 6800 XT"})").cause.id, "gpu-unsupported");
  EXPECT_EQ(diagnose(log, R"({"vendor": "AMD", "gpu": "RX 7900 XTX"})").cause.id,
            "host-without-kfd");
}

TEST(Wsl, an_index_without_wheels_for_wsl_tells_where_no_agent_is_shown) {
  const std::string wheel =
      "WSL2, pip3 install torch --index-url https://download.pytorch.org/whl/rocm6.2\n";
  const std::string lost = "hipGetDeviceCount: Returned hipErrorNoDevice :\n";
  EXPECT_EQ(diagnose(wheel + lost).cause.id, "rocm-version-mismatch");
  EXPECT_EQ(
      diagnose(wheel + lost + "hsa_init Failed, possibly no supported GPU devices\n").cause.id,
      "host-without-kfd");
}

TEST(Wsl, the_same_outside_of_wsl_is_something_else) {
  const auto found = diagnose(
      "$ uname -r\n6.14.0-37-generic\n"
      "$ rocminfo | grep gfx\n"
      "  Name:                    gfx1100\n"
      "2.8.0+rocm6.4\n"
      "CUDA available: False\n");
  EXPECT_NE(found.cause.id, "rocm-version-mismatch");
}

TEST(Wsl, the_library_that_is_missing_is_named) {
  const auto found = diagnose(
      "WSL environment detected.\n"
      "Cannot load librocdxg.so, failed:librocdxg.so: cannot open shared object file: No such file "
      "or directory\n"
      "hsa_init Failed, possibly no supported GPU devices\n");
  EXPECT_EQ(found.cause.id, "missing-library");
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("ROCm/librocdxg")));
}

TEST(Wsl, the_first_generation_reaches_no_gpu_whatever_is_installed) {
  const auto found = diagnose(
      "$ uname -r\n4.4.0-19041-Microsoft\n"
      "$ rocminfo\n"
      "ROCk module is NOT loaded, possibly no GPU devices\n");
  EXPECT_EQ(found.cause.id, "host-without-kfd");
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("--set-version")));
}

TEST(Wsl, a_job_that_fills_the_card_is_too_big_there_as_anywhere) {
  const auto found = diagnose(
      "Linux 6.6.87.2-microsoft-standard-WSL2\n"
      "misc dxg: dxgk: dxgkio_query_adapter_info: Ioctl failed: -22\n"
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
      "capacity of 15.98 GiB of which 120.00 MiB is free. Of the allocated memory 15.20 GiB is "
      "allocated by PyTorch, and 200.00 MiB is reserved by PyTorch but unallocated.\n");
  EXPECT_EQ(found.cause.id, "job-too-big");
}

TEST(Wsl, a_run_that_works_is_healthy_whatever_the_kernel_grumbles) {
  const auto found = diagnose(
      "Linux 6.6.87.2-microsoft-standard-WSL2\n"
      "misc dxg: dxgk: dxgkio_query_adapter_info: Ioctl failed: -2\n"
      "  Name:                    gfx1100\n"
      "100%|##########| 20/20 [00:12<00:00,  1.61it/s]\n");
  EXPECT_EQ(found.cause.id, "none");
}

TEST(Wsl, a_refusal_by_the_runtime_outlasts_an_override_that_is_tried_after_it) {
  const std::string refused =
      "$ uname -r\n5.15.167.4-microsoft-standard-WSL2\n$ rocminfo\nROCR: unsupported GPU\n"
      "hsa api call failure at: /src/rocminfo/rocminfo.cc:1306\n";
  const auto found = diagnose(refused +
                                  "$ HSA_OVERRIDE_GFX_VERSION=11.0.0 rocminfo\n"
                                  "ROCR: unsupported GPU\n",
                              R"({"vendor": "AMD", "gpu": "Radeon RX 7600 XT"})");
  EXPECT_EQ(found.cause.id, "gpu-unsupported");
  EXPECT_LT(confidence_of(found, "host-without-kfd"), 0.3);
}

TEST(Wsl, an_update_after_which_the_gpu_is_gone_is_a_regression) {
  const std::string wsl = "$ uname -r\n6.6.87.2-microsoft-standard-WSL2\n";
  const std::string seen = "$ rocminfo | grep gfx\n  Name:                    gfx1101\n";
  const std::string update =
      "Unpacking rocm-core (6.4.2.60402-120~22.04) over (6.4.1.60401-83~22.04) ...\n";
  const std::string lost =
      "$ rocminfo\nWSL environment detected.\n"
      "hsa api call failure at: /src/rocminfo/rocminfo.cc:1306\n"
      "$ python3 -c \"import torch; print(torch.__version__, torch.cuda.is_available())\"\n"
      "2.6.0+rocm6.4.2.git76481f7c False\n";
  const auto found = diagnose(wsl + seen + update + lost, R"({"vendor": "AMD"})");
  EXPECT_EQ(found.cause.id, "rocm-regression");
  EXPECT_THAT(found.cause.title, HasSubstr("6.4.1"));
  // Without the sight before it, the update is no more than that.
  EXPECT_NE(diagnose(wsl + update + lost, R"({"vendor": "AMD"})").cause.id, "rocm-regression");
  EXPECT_NE(diagnose(wsl + seen + update + lost + seen, R"({"vendor": "AMD"})").cause.id,
            "rocm-regression");
}

TEST(Wsl, a_library_that_is_not_found_explains_the_symbol_that_it_would_define) {
  const auto got = diagnose(
      "$ python -c 'import torch; print(torch.cuda.is_available())'\n"
      "Cannot load librocdxg.so, failed:librocdxg.so: cannot open shared object file: No such file "
      "or directory\n"
      "GetExportAddress failed: /venv/lib/python3.12/site-packages/_rocm_sdk_core/lib/"
      "libhsa-runtime64.so.1: undefined symbol: hsaKmtOpenKFD\n"
      "False\n",
      R"({"vendor": "AMD", "rocm": "7.13", "distro": "Ubuntu 24.04, WSL2"})");
  EXPECT_EQ(got.cause.id, "missing-library");
}

}  // namespace
}  // namespace headroom::findings
