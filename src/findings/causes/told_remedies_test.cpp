// SPDX-License-Identifier: Apache-2.0
// What people tell of steps that they tried.
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;

constexpr std::string_view amd = R"({"vendor": "AMD", "gpu": "RX 7900 XTX"})";

std::string cause_of(std::string_view log, std::string_view stated = amd) {
  return diagnose(log, stated).cause.id;
}

TEST(ToldRemedies, a_variable_that_makes_it_work_accuses_what_it_is_against) {
  EXPECT_EQ(cause_of("Both cards hang in the first all-reduce of the training.\n"
                     "With NCCL_P2P_DISABLE=1 the training works.\n"),
            "rccl-p2p");
  EXPECT_EQ(cause_of("vLLM hangs with two cards. Adding iommu=pt to the kernel command line solved "
                     "it.\n"),
            "rccl-p2p");
}

TEST(ToldRemedies, one_that_has_to_be_left_out_accuses_itself) {
  EXPECT_EQ(cause_of("The server dies at its start.\n"
                     "Without VLLM_ROCM_USE_AITER it works.\n"),
            "unsupported-option");
  EXPECT_EQ(cause_of("The job crashes. Setting TORCH_BLAS_PREFER_HIPBLASLT=0 makes it work.\n"),
            "unsupported-option");
  EXPECT_EQ(
      cause_of("The model crashes at once. After unsetting HSA_OVERRIDE_GFX_VERSION it works.\n"),
      "gfx-override-wrong");
}

TEST(ToldRemedies, what_did_not_help_accuses_nothing) {
  EXPECT_NE(cause_of("Both cards hang in the first step of the training.\n"
                     "With NCCL_P2P_DISABLE=1 it still hangs.\n"),
            "rccl-p2p");
  EXPECT_NE(cause_of("The job crashes at once. Does it work without VLLM_ROCM_USE_AITER?\n"),
            "unsupported-option");
}

TEST(ToldRemedies, a_mask_accuses_an_integrated_gpu_only_where_there_is_one) {
  const std::string told = "The job crashes at once. With HIP_VISIBLE_DEVICES=0 it works.\n";
  EXPECT_NE(cause_of(told), "igpu-selected");
  EXPECT_EQ(cause_of("My processor has an iGPU besides the card.\n" + told), "igpu-selected");
}

TEST(ToldRemedies, advice_that_a_program_prints_was_tried_by_nobody) {
  EXPECT_EQ(
      cause_of("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 "
               "has a total capacity of 15.98 GiB of which 312.00 MiB is free. Of the allocated "
               "memory 15.10 GiB is allocated by PyTorch, and 210.51 MiB is reserved by PyTorch "
               "but unallocated. If reserved but unallocated memory is large try setting "
               "PYTORCH_HIP_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n"),
      "job-too-big");
}

TEST(ToldRemedies, words_about_a_group_that_nobody_set_clear_nothing) {
  const std::string refused =
      "ROCk module is loaded\nUnable to open /dev/kfd read-write: Permission denied\n";
  const auto plain = diagnose(refused, amd);
  const auto more =
      diagnose(refused + "Failed to get user name to check for video group membership\n", amd);
  EXPECT_EQ(more.cause.id, "device-permission");
  EXPECT_TRUE(more.cause.against.empty());
  EXPECT_GE(more.cause.confidence, plain.cause.confidence);
}

TEST(ToldRemedies, they_are_no_proof) {
  const auto told =
      diagnose("The job hangs on both cards. With NCCL_P2P_DISABLE=1 it works.\n", amd);
  EXPECT_TRUE(told.cause.is_told);
  EXPECT_LT(confidence_of(told, "rccl-p2p"), 0.8);
}

}  // namespace
}  // namespace headroom::findings
