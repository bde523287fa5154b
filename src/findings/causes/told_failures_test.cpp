// SPDX-License-Identifier: Apache-2.0
// Failures of memory, of transfers between GPUs and of programs that a report tells in its own
// words, or that a log shows only in part: each with a neighbour that looks like it and is not.
#include <gtest/gtest.h>

#include "findings/causes/testing.h"
#include "findings/finding.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;

constexpr std::string_view amd = R"({"vendor": "AMD"})";
constexpr double most_if_only_told = 0.75;

std::string two_cards(std::string_view first, std::string_view second) {
  return "ggml_cuda_init: found 2 ROCm devices:\n  Device 0: AMD Radeon VII, " +
         std::string(first) + " (0x906), VMM: no\n  Device 1: AMD Radeon VII, " +
         std::string(second) + " (0x906), VMM: no\n";
}

TEST(ToldFailures, nonsense_from_a_model_on_two_like_cards_is_doubtfully_their_transfers) {
  const std::string told = "Eval bug: several models are producing gibberish\n";
  const auto two = diagnose(told + two_cards("gfx906", "gfx906"), amd);
  EXPECT_EQ(two.cause.id, "rccl-p2p");
  EXPECT_LT(two.cause.confidence, most_if_only_told);
  EXPECT_NE(diagnose(told, amd).cause.id, "rccl-p2p");
  EXPECT_NE(diagnose(told + two_cards("gfx1100", "gfx1036"), amd).cause.id, "rccl-p2p");
  EXPECT_NE(diagnose(two_cards("gfx906", "gfx906"), amd).cause.id, "rccl-p2p");
}

TEST(ToldFailures, nonsense_that_ends_without_peer_copies_is_theirs) {
  const std::string told = "The output is garbage with both cards.\n";
  for (const char* cure : {"Building with -DGGML_CUDA_NO_PEER_COPY=ON fixes it.\n",
                           "It works with iommu=pt on the kernel's command line.\n",
                           "Booting with amd_iommu=off resolved it.\n"}) {
    EXPECT_EQ(diagnose(told + cure, amd).cause.id, "rccl-p2p") << cure;
  }
}

TEST(ToldFailures, an_error_that_came_up_from_the_peer_transport_is_its_own) {
  const std::string failed =
      "box:1:2 [0] NCCL INFO /rccl/hipify/src/transport.cc:45 -> 3\n"
      "box: Test NCCL failure common.cu.cpp:1291 'unhandled cuda error'\n";
  EXPECT_EQ(
      diagnose("box:1:2 [0] NCCL INFO /rccl/hipify/src/transport/p2p.cc:473 -> 3\n" + failed, amd)
          .cause.id,
      "rccl-p2p");
  EXPECT_NE(
      diagnose("box:1:2 [0] NCCL INFO /rccl/hipify/src/transport/net.cc:473 -> 3\n" + failed, amd)
          .cause.id,
      "rccl-p2p");
}

TEST(ToldFailures, memory_that_a_tool_shows_free_is_not_held_by_others) {
  const std::string refused =
      "ValueError: Free memory on device cuda:0 (23.19/64.0 GiB) on startup is less than desired "
      "GPU memory utilization (0.85, 54.4 GiB).\n";
  EXPECT_EQ(diagnose(refused, amd).cause.id, "vram-held-by-other");
  for (const char* told : {"rocm-smi shows ~64 GiB genuinely free\n",
                           "amdgpu_top shows 63.5 GiB free\n", "The VRAM is completely empty.\n"}) {
    const auto free = diagnose(refused + told, amd);
    EXPECT_EQ(free.cause.id, "free-memory-misreported") << told;
    EXPECT_LT(free.cause.confidence, most_if_only_told) << told;
  }
  // What is said to be free is what the program sees.
  EXPECT_EQ(diagnose(refused + "rocm-smi shows 23 GiB free\n", amd).cause.id, "vram-held-by-other");
}

TEST(ToldFailures, a_server_that_found_room_before_its_update_reckons_wrongly) {
  const std::string refused = "msg=\"not enough vram available, falling back to CPU only\"\n";
  const auto updated =
      diagnose("It worked great until I rebuilt with the newest ollama.\n" + refused, amd);
  EXPECT_EQ(updated.cause.id, "free-memory-misreported");
  EXPECT_LT(updated.cause.confidence, most_if_only_told);
  EXPECT_EQ(diagnose(refused, amd).cause.id, "job-too-big");
  EXPECT_EQ(diagnose("It is not working on ollama.\n" + refused, amd).cause.id, "job-too-big");
}

TEST(ToldFailures, a_missing_public_attribute_is_the_programs_and_one_of_a_build_is_not) {
  EXPECT_EQ(
      diagnose("AttributeError: module 'torch.version' has no attribute 'rocm'\n", amd).cause.id,
      "app-bug");
  EXPECT_LT(confidence_of(
                diagnose("AttributeError: module 'torch._C' has no attribute '_cuda_init'\n", amd),
                "app-bug"),
            0.5);
}

TEST(ToldFailures, a_box_that_ends_in_an_attributes_lookup_tells_of_its_caller) {
  const std::string caller = "web  | │ /app/modules/hijack.py:554 in hijack_samplers      │\n";
  const std::string lookup =
      "web  | │ /venv/lib/python3.10/site-packages/transformers/utils/import_utils.py:1594 │\n"
      "web  | │ in __getattr__                                                            │\n";
  const auto cut = diagnose(caller + lookup, amd);
  EXPECT_EQ(cut.cause.id, "app-bug");
  EXPECT_LT(cut.cause.confidence, most_if_only_told);
  EXPECT_NE(diagnose(caller, amd).cause.id, "app-bug");
}

TEST(ToldFailures, a_boxed_error_is_its_innermost_frames) {
  const std::string error =
      "╰──────────────────────────────────────────╯\nTypeError: 'NoneType' is not iterable\n";
  const auto own = diagnose("│ /app/train.py:12 in main     │\n" + error, amd);
  const auto others =
      diagnose("│ /v/lib/python3.11/site-packages/torch/nn/a.py:12 in main     │\n" + error, amd);
  EXPECT_GT(confidence_of(own, "app-bug"), confidence_of(others, "app-bug"));
}

Diagnosis measured(std::string id, double confidence) {
  Diagnosis machine;
  machine.verdict = Verdict::broken;
  Cause cause;
  cause.id = std::move(id);
  cause.title = "measured";
  cause.confidence = confidence;
  machine.cause = std::move(cause);
  return machine;
}

TEST(ToldFailures, what_is_measured_now_does_not_replace_what_the_log_proves) {
  auto large = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 23.47 GiB. GPU 0 has a total "
      "capacity of 19.98 GiB of which 19.70 GiB is free.\n",
      amd);
  ASSERT_EQ(large.cause.id, "job-too-big");
  ASSERT_GE(large.cause.confidence, 0.9);
  join_machine(measured("vram-held-by-other", 0.95), large);
  EXPECT_EQ(large.cause.id, "job-too-big");
  auto full = diagnose("torch.OutOfMemoryError: HIP out of memory.\n", amd);
  join_machine(measured("vram-held-by-other", 0.95), full);
  EXPECT_EQ(full.cause.id, "vram-held-by-other");
}

}  // namespace
}  // namespace headroom::findings
