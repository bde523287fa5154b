// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/gpu_code.h"

#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;
using ::testing::HasSubstr;

constexpr std::string_view rocblas_list = R"(
rocBLAS error: Cannot read /opt/rocm-6.1.2/lib/rocblas/library/TensileLibrary.dat: No such file or directory for GPU arch : gfx1035
 List of available TensileLibrary Files : 
"/opt/rocm-6.1.2/lib/rocblas/library/TensileLibrary_lazy_gfx1030.dat"
"/opt/rocm-6.1.2/lib/rocblas/library/TensileLibrary_lazy_gfx90a.dat"
Aborted (core dumped)
)";

TEST(GfxTargetMissing, a_list_of_kernels_without_the_target_is_the_proof) {
  const LogDiagnosis diagnosis = diagnose(rocblas_list);
  EXPECT_EQ(diagnosis.cause.id, "gfx-target-missing");
  EXPECT_GE(diagnosis.cause.confidence, 0.9);
  EXPECT_THAT(diagnosis.cause.title, HasSubstr("gfx1035"));
  EXPECT_THAT(diagnosis.cause.reasons.back(), HasSubstr("gfx1030, gfx90a"));
}

TEST(GfxTargetMissing, targets_of_the_list_are_not_the_machines) {
  const LogDiagnosis diagnosis = diagnose(rocblas_list);
  for (const std::string& step : texts_of(diagnosis.cause.fix)) {
    EXPECT_EQ(step.find("device-gfx90a"), std::string::npos) << step;
  }
}

TEST(GfxTargetMissing, ollama_names_it_in_its_old_and_its_new_wording) {
  const LogDiagnosis old = diagnose(
      "level=WARN source=amd_linux.go:114 msg=\"amdgpu [0] gfx1012 is not supported by "
      "/tmp/ollama1/rocm [gfx1030 gfx1100 gfx90a]\"\n");
  EXPECT_EQ(old.cause.id, "gfx-target-missing");
  EXPECT_GE(old.cause.confidence, 0.9);
  const LogDiagnosis now = diagnose(
      "level=WARN source=amd_linux.go:376 msg=\"amdgpu is not supported (supported "
      "types:[gfx1030 gfx1100])\" gpu_type=gfx1034 gpu=0 library=/usr/lib/ollama/rocm\n"
      "level=INFO source=gpu.go:377 msg=\"no compatible GPUs were discovered\"\n");
  EXPECT_EQ(now.cause.id, "gfx-target-missing");
}

TEST(GfxTargetMissing, an_integrated_gpu_that_is_passed_over_is_no_failure) {
  const LogDiagnosis diagnosis = diagnose(
      "level=WARN source=amd_linux.go:376 msg=\"amdgpu is not supported (supported "
      "types:[gfx1030 gfx1100])\" gpu_type=gfx1036 gpu=1 library=/usr/lib/ollama/rocm\n"
      "level=INFO source=types.go:130 msg=\"inference compute\" id=0 library=rocm variant=\"\" "
      "compute=gfx1100 driver=6.8 name=1002:744c total=\"20.0 GiB\" available=\"19.8 GiB\"\n");
  EXPECT_NE(diagnosis.cause.id, "gfx-target-missing");
}

TEST(GfxTargetMissing, a_kernel_not_found_weighs_by_what_is_built_for_the_gpu) {
  const std::string_view line = "RuntimeError: HIP error: invalid device function\n";
  const LogDiagnosis rare = diagnose(line, R"({"gpu": "Radeon RX 5700 XT", "vendor": "AMD"})");
  EXPECT_EQ(rare.cause.id, "gfx-target-missing");
  EXPECT_GE(rare.cause.confidence, 0.8);
  const LogDiagnosis usual = diagnose(line, R"({"gfx": "gfx1100", "vendor": "AMD"})");
  EXPECT_LE(confidence_of(usual, "gfx-target-missing"), 0.6);
}

TEST(GfxTargetMissing, beside_an_integrated_gpu_the_same_line_says_little) {
  const LogDiagnosis diagnosis =
      diagnose("torch.AcceleratorError: HIP error: device kernel image is invalid\n",
               R"({"gfx": "gfx1100, gfx1036", "vendor": "AMD"})");
  EXPECT_LE(confidence_of(diagnosis, "gfx-target-missing"), 0.4);
}

TEST(GfxTargetMissing, wheels_with_kernels_apart_may_lack_them_for_a_listed_gpu) {
  const std::string_view line =
      "torch.AcceleratorError: HIP error: device kernel image is invalid\n";
  const LogDiagnosis apart = diagnose(
      line, R"({"vendor": "AMD", "gfx": "gfx1151", "framework": "torch 2.13.0+rocm10.0.0"})");
  EXPECT_EQ(apart.cause.id, "gfx-target-missing");
  const LogDiagnosis whole = diagnose(
      line, R"({"vendor": "AMD", "gfx": "gfx1100", "framework": "torch 2.6.0+rocm6.2.4"})");
  EXPECT_LT(confidence_of(whole, "gfx-target-missing"), apart.cause.confidence);
}

TEST(GfxTargetMissing, a_list_that_holds_the_target_is_another_matter) {
  const LogDiagnosis diagnosis = diagnose(
      "I tensorflow/core/common_runtime/gpu/gpu_device.cc:2266] Ignoring visible gpu device "
      "(device: 0, name: Radeon RX 7900 XT, pci bus id: 0000:03:00.0) with AMDGPU version : "
      "gfx1100. The supported AMDGPU versions are gfx1030gfx1100, gfx908, gfx90a.\n");
  EXPECT_NE(diagnosis.cause.id, "gfx-target-missing");
}

TEST(GfxTargetMissing, an_attention_package_is_an_add_on) {
  const LogDiagnosis diagnosis = diagnose(
      "AssertionError: One of GPU archs of ['gfx906'] is invalid or not supported by "
      "Flash-Attention\n",
      R"({"vendor": "AMD", "gfx": "gfx906", "rocm": "6.4"})");
  EXPECT_EQ(diagnosis.cause.id, "gfx-target-missing");
  EXPECT_THAT(diagnosis.cause.fix.front().whole(), HasSubstr("scaled_dot_product_attention"));
}

TEST(GfxTargetMissing, pytorch_that_dies_on_a_card_without_wheels_lacks_code) {
  const std::string log =
      "GPU device = cuda AMD Radeon RX 6700 XT\nSegmentation fault (core dumped)\n";
  EXPECT_EQ(diagnose(log).cause.id, "gfx-target-missing");
  EXPECT_NE(diagnose("HSA_OVERRIDE_GFX_VERSION=10.3.0 python run.py\n" + log).cause.id,
            "gfx-target-missing");
  EXPECT_NE(diagnose("GPU device = cuda AMD Radeon RX 7900 XTX\nSegmentation fault\n").cause.id,
            "gfx-target-missing");
}

TEST(GfxTargetDropped, the_history_of_the_target_decides) {
  const std::string_view line =
      "\"hipErrorNoBinaryForGpu: Unable to find code object for all current devices!\"\n";
  const LogDiagnosis old = diagnose(line, R"({"gpu": "Radeon RX 580", "rocm": "5.4"})");
  EXPECT_EQ(old.cause.id, "gfx-target-dropped");
  EXPECT_GE(old.cause.confidence, 0.8);
  EXPECT_EQ(diagnose(line, R"({"gpu": "Radeon RX 580", "rocm": "3.5"})").cause.id,
            "gfx-target-missing");
  EXPECT_EQ(diagnose(line, R"({"gfx": "gfx90c"})").cause.id, "gfx-target-missing");
}

TEST(GfxTargetDropped, ollama_without_vega_20_names_the_stack_that_has_it) {
  const LogDiagnosis diagnosis = diagnose(
      "level=WARN source=amd_linux.go:376 msg=\"amdgpu is not supported (supported "
      "types:[gfx1030 gfx1100 gfx908 gfx90a])\" gpu_type=gfx906 gpu=0 library=/usr/lib/ollama\n");
  EXPECT_EQ(diagnosis.cause.id, "gfx-target-dropped");
  EXPECT_THAT(diagnosis.cause.fix.front().whole(), HasSubstr("torch==2.4.1+rocm6.0"));
}

TEST(GfxTargetDropped, a_release_that_is_too_new_alone_is_a_guess) {
  const LogDiagnosis diagnosis = diagnose("Segmentation fault\nRuntimeError: it failed\n",
                                          R"({"gfx": "gfx803", "rocm": "6.2"})");
  EXPECT_LE(confidence_of(diagnosis, "gfx-target-dropped"), 0.5);
}

TEST(GfxOverrideWrong, a_fault_under_a_dangerous_override_is_its_doing) {
  const LogDiagnosis diagnosis = diagnose(
      "$ export HSA_OVERRIDE_GFX_VERSION=11.0.0\n"
      "Memory access fault by GPU node-1 (Agent handle: 0x55) on address 0x7f00. Reason: Page not "
      "present or supervisor privilege.\n",
      R"({"gpu": "Radeon RX 6600"})");
  EXPECT_EQ(diagnosis.cause.id, "gfx-override-wrong");
  EXPECT_GE(diagnosis.cause.confidence, 0.85);
}

TEST(GfxOverrideWrong, what_the_gpu_then_calls_itself_is_not_its_target) {
  const LogDiagnosis diagnosis = diagnose(
      "environment: HSA_OVERRIDE_GFX_VERSION: \"10.3.0\"\n"
      "  Name:                    gfx1030\n"
      "HIP error: invalid device function\n",
      R"({"gpu": "Instinct MI210"})");
  EXPECT_EQ(diagnosis.cause.id, "gfx-override-wrong");
}

TEST(GfxOverrideWrong, the_near_target_that_is_known_to_run_is_not_blamed) {
  const LogDiagnosis diagnosis = diagnose(
      "HSA_OVERRIDE_GFX_VERSION=10.3.0 python train.py\n"
      "Memory access fault by GPU node-1 (Agent handle: 0x55) on address 0x7f00. Reason: "
      "Unknown.\n",
      R"({"gpu": "Radeon RX 6600"})");
  EXPECT_LE(confidence_of(diagnosis, "gfx-override-wrong"), 0.3);
}

TEST(GfxOverrideWrong, a_runtime_that_gives_another_target_than_the_name_implies_it) {
  const std::string_view log =
      "  Name:                    gfx1100\n"
      "  Marketing Name:          AMD Radeon RX 9070 XT\n"
      "Memory access fault by GPU node-1 (Agent handle: 0x5) on address (nil). Reason: Unknown.\n";
  const LogDiagnosis diagnosis = diagnose(log);
  EXPECT_EQ(diagnosis.cause.id, "gfx-override-wrong");
  EXPECT_THAT(diagnosis.cause.title, HasSubstr("HSA_OVERRIDE_GFX_VERSION=11.0.0"));
  // The same card's own target, and the integrated GPU beside it.
  EXPECT_NE(diagnose("  Name:                    gfx1201\n"
                     "  Marketing Name:          AMD Radeon RX 9070 XT\n"
                     "  Name:                    gfx1036\n"
                     "Memory access fault by GPU node-1 (Agent handle: 0x5) on address (nil).\n")
                .cause.id,
            "gfx-override-wrong");
}

TEST(GfxOverrideWrong, without_a_failure_it_is_a_runner_up) {
  const LogDiagnosis diagnosis =
      diagnose("HSA_OVERRIDE_GFX_VERSION=11.0.0 python train.py\n", R"({"gfx": "gfx1103"})");
  EXPECT_NE(diagnosis.cause.id, "gfx-override-wrong");
}

TEST(GfxOverrideWrong, a_value_tried_after_the_refusal_did_not_bring_it) {
  const std::string refused =
      "level=WARN msg=\"amdgpu [0] gfx802 is not supported by /tmp/rocm [gfx1030 gfx1100]\"\n";
  const std::string tried =
      "$ HSA_OVERRIDE_GFX_VERSION=10.3.0 ollama serve\n"
      "level=ERROR msg=\"error starting llama server\" error=\"llama runner process no longer "
      "running: -1 \"\n";
  EXPECT_EQ(diagnose(refused + tried, R"({"gfx": "gfx802"})").cause.id, "gpu-unsupported");
}

TEST(GfxOverrideWrong, a_program_may_set_the_variable_itself) {
  const std::string symptom =
      ":1:hip_fatbin.cpp :0295: 4410918332 us: [pid:30211] COMGR API could not find the CO for "
      "this "
      "GPU device/ISA: amdgcn-amd-amdhsa--gfx900\n";
  const std::string code = "std::env::set_var(\"HSA_OVERRIDE_GFX_VERSION\", \"9.0.0\");\n";
  EXPECT_EQ(diagnose(symptom + code, R"({"gfx": "gfx1151"})").cause.id, "gfx-override-wrong");
  EXPECT_NE(diagnose(symptom, R"({"gfx": "gfx1151"})").cause.id, "gfx-override-wrong");
}

TEST(GfxTargetMissing, hips_assertion_on_loading_a_binary_is_about_its_code) {
  EXPECT_EQ(diagnose("python: /build/clr-rocm-6.0.2/hipamd/src/hip_code_object.cpp:762: "
                     "hip::FatBinaryInfo** hip::StatCO::addFatBinary(const void*, bool): Assertion "
                     "`err == hipSuccess' failed.\n",
                     R"({"vendor": "AMD", "gfx": "gfx90c"})")
                .cause.id,
            "gfx-target-missing");
}

TEST(GfxTargetMissing, a_build_of_ones_own_for_the_card_is_no_wheel_that_lacks_it) {
  const std::string crash = "torch 2.2.0a0+git6849d75\nSegmentation fault (core dumped)\n";
  constexpr std::string_view card = R"({"vendor": "AMD", "gfx": "gfx1010", "rocm": "5.7"})";
  const auto wheel = diagnose(crash, card);
  const auto own = diagnose("PYTORCH_ROCM_ARCH=gfx1010 python setup.py develop\n" + crash, card);
  EXPECT_GT(testing::confidence_of(wheel, "gfx-target-missing"), 0);
  EXPECT_EQ(testing::confidence_of(own, "gfx-target-missing"), 0);
}

TEST(GfxTargetMissing, a_build_for_the_card_names_its_whole_target) {
  const std::string crash = "torch 2.2.0a0+git6849d75\nSegmentation fault (core dumped)\n";
  constexpr std::string_view card = R"({"vendor": "AMD", "gfx": "gfx1010", "rocm": "5.7"})";
  const auto with = [&](const std::string& targets) {
    return testing::confidence_of(
        diagnose("PYTORCH_ROCM_ARCH=" + targets + " python setup.py develop\n" + crash, card),
        "gfx-target-missing");
  };
  EXPECT_EQ(with("gfx1010:xnack-"), 0);
  EXPECT_GT(with("gfx10101"), 0);
}

TEST(GfxTargetDropped, an_older_release_is_said_to_have_the_code) {
  const std::string symptom =
      "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: No such file "
      "or directory for GPU arch : gfx90a\n";
  constexpr std::string_view card = R"({"vendor": "AMD", "gfx": "gfx90a", "rocm": "7.2.0"})";
  const auto id = [&](const std::string& told) { return diagnose(symptom + told, card).cause.id; };
  EXPECT_EQ(id("The package of release 7.1.0 has 96 files in it, and 40 contain gfx90a.\n"),
            "gfx-target-dropped");
  EXPECT_EQ(id("In build 7.3.0 the same folder contains 40 files of gfx90a.\n"),
            "gfx-target-missing");
  EXPECT_EQ(id("Release 7.1.0 is no better and has none that contains gfx90a.\n"),
            "gfx-target-missing");
}

}  // namespace
}  // namespace headroom::findings
