// SPDX-License-Identifier: Apache-2.0
// What people say of the cause: it answers where nothing firmer does, and never surely.
#include "findings/causes/remarks.h"

#include <gtest/gtest.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::diagnose;

constexpr std::string_view amd = R"({"vendor": "AMD"})";

TEST(Remarks, going_back_to_another_release_that_helps_names_the_cause_but_not_surely) {
  const auto rocm =
      diagnose("After the upgrade it dies.\nDowngrading ROCm back to 6.4.1 also worked.\n", amd);
  EXPECT_EQ(rocm.cause.id, "rocm-regression");
  EXPECT_LT(rocm.cause.confidence, 0.75);
  const auto firmware =
      diagnose("Running fails.\nReverting linux-firmware to the older package fixed it.\n", amd);
  EXPECT_EQ(firmware.cause.id, "firmware-bad");
}

TEST(Remarks, going_back_that_does_not_help_names_nothing) {
  EXPECT_NE(diagnose("I tried downgrading ROCm to 6.4.1.\n", amd).cause.id, "rocm-regression");
  EXPECT_NE(diagnose("The firmware is the newest one.\n", amd).cause.id, "firmware-bad");
}

TEST(Remarks, a_line_that_proves_another_cause_outweighs_what_is_said) {
  const auto full = diagnose(
      "OSError: [Errno 28] No space left on device\nDowngrading ROCm to 6.4.1 has worked once.\n",
      amd);
  EXPECT_EQ(full.cause.id, "disk-full");
}

TEST(Remarks, words_like_those_of_a_remark_name_nothing_where_nobody_tells_of_trouble) {
  for (const std::string_view text :
       {"Autotuning: switching to kernel flash_v2 works, 3 % faster\n",
        "step 10 loss 3.2\nmemory limit hard-coded to 90% of the card by the config\n"
        "step 20 loss 3.1\n",
        "After the firmware update, the dock works fine.\nSuccessfully installed firmware\n",
        "step 10 loss 3.2\nit uses the integrated GPU for the display\nstep 20 loss 3.1\n"}) {
    const std::string cause = diagnose(std::string(text), amd).cause.id;
    EXPECT_TRUE(cause == "none" || cause == "insufficient-evidence") << cause << ": " << text;
  }
}

TEST(Remarks, trouble_that_ended_is_trouble_too) {
  EXPECT_EQ(diagnose("Updating the kernel to 6.14 fixed it for me.\n", amd).cause.id,
            "kernel-too-old");
}

TEST(Remarks, a_line_that_needs_no_other_is_an_answer) {
  const auto refused = diagnose("WSL environment detected.\nROCR: unsupported GPU\n", amd);
  EXPECT_EQ(refused.cause.id, "gpu-unsupported");
  EXPECT_GE(refused.cause.confidence, 0.8);
  const auto header = diagnose("x.hip:1:10: fatal error: 'cmath' file not found\n", amd);
  EXPECT_EQ(header.cause.id, "missing-library");
  EXPECT_NE(diagnose("x.hip:1:10: fatal error: 'my_kernel.h' file not found\n", amd).cause.id,
            "missing-library");
}

TEST(Remarks, pips_build_for_cuda_is_the_wrong_wheel_and_one_for_rocm_is_not) {
  const std::string cuda = "  Downloading torch-2.6.0-cp312-cp312-manylinux1_x86_64.whl (766 MB)\n";
  const std::string rocm =
      "  Downloading torch-2.6.0+rocm6.2-cp312-cp312-linux_x86_64.whl (4 GB)\n";
  EXPECT_EQ(diagnose(cuda, amd).cause.id, "wrong-wheel");
  EXPECT_NE(diagnose(rocm, amd).cause.id, "wrong-wheel");
}

TEST(Remarks, a_programs_advice_beside_work_that_is_done_is_no_report) {
  const std::string advice =
      "IMPORT FAILED: nodes_audio.py\n"
      "This issue might be caused by new missing dependencies added the last time you updated "
      "ComfyUI.\n";
  const std::string work =
      "got prompt\n100%|####| 9/9 [00:13<00:00,  1.50s/it]\nPrompt executed in 31.77 seconds\n";
  EXPECT_EQ(diagnose(advice + work, amd).cause.id, "none");
  EXPECT_EQ(diagnose("It fails. The libraries are not found.\n", amd).cause.id, "missing-library");
}

}  // namespace
}  // namespace headroom::findings
