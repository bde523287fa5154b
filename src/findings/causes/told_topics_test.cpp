// SPDX-License-Identifier: Apache-2.0
// What trouble is said to be about: a guess, and only where nothing else is known.
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::diagnose;

constexpr std::string_view amd = R"({"vendor": "AMD"})";

struct Topic {
  const char* told;
  const char* cause;
};

class ToldTopic : public ::testing::TestWithParam<Topic> {};

TEST_P(ToldTopic, is_a_guess) {
  const auto got = diagnose(GetParam().told, amd);
  EXPECT_EQ(got.cause.id, GetParam().cause) << GetParam().told;
  EXPECT_LT(got.cause.confidence, 0.45);
}

TEST_P(ToldTopic, gives_way_to_a_line_that_tells) {
  const std::string full = "OSError: [Errno 28] No space left on device\n";
  EXPECT_EQ(diagnose(full + GetParam().told, amd).cause.id, "disk-full") << GetParam().told;
}

constexpr Topic topics[] = {
    {"Transfers by P2P between both cards give wrong numbers\n", "rccl-p2p"},
    {"My job gets stuck as soon as DDP starts on the second node\n", "collective-hang"},
    {"The wheel does not have kernels: no support for gfx1103\n", "gfx-target-missing"},
    {"It cannot work, Polaris is not officially supported\n", "gpu-unsupported"},
    {"The job fails, as it picks the onboard graphics of the processor\n", "igpu-selected"},
    {"With the linux-firmware of this month the machine freezes under load\n", "firmware-bad"},
    {"rocminfo does not list the GPU with the kernel 6.8 of my distribution\n", "kernel-too-old"},
    {"The whole desktop freezes when I start the training\n", "gpu-hang"},
    {"The pod gets an OOM kill, I cannot see why: container with 8 GB\n", "cgroup-memory-limit"},
    {"It does not use the card, is the wheel of torch perhaps one for the CPU\n", "wrong-wheel"},
    {"Does it fail for want of PCIe atomics?\n", "pcie-atomics"},
    {"It fails in the virtual machine, maybe resizable BAR\n", "bar-too-small"},
    {"It is slow, as MIOpen does not like a home directory on NFS\n", "miopen-db"},
    {"bitsandbytes does not find my ROCm\n", "bitsandbytes-no-rocm"},
};
INSTANTIATE_TEST_SUITE_P(All, ToldTopic, ::testing::ValuesIn(topics));

TEST(ToldTopics, a_document_that_speaks_of_everything_is_no_report_of_one_failure) {
  const std::string told = "My job gets stuck as soon as DDP starts on the second node\n";
  std::string more;
  for (int day = 1; day <= 45; ++day)
    more += "On day " + std::to_string(day) + " of the project we compared another way to train\n";
  EXPECT_EQ(diagnose(told, amd).cause.id, "collective-hang");
  EXPECT_EQ(diagnose(told + more, amd).cause.id, "insufficient-evidence");
}

TEST(ToldTopics, memory_that_a_card_of_its_own_reports_is_no_carve_out) {
  const auto told = [](const char* gpu) {
    return diagnose(
               "[    3.4] [drm] amdgpu: 8176M of VRAM memory ready\n"
               "[    3.4] [drm] amdgpu: 8176M of GTT memory ready.\n"
               "Is this carve-out why it fails?\n",
               std::string(R"({"vendor": "AMD", "gpu": ")") + gpu + R"("})")
        .cause.id;
  };
  EXPECT_EQ(told("Radeon VII"), "insufficient-evidence");
  EXPECT_EQ(told("Radeon 780M"), "uma-carveout-small");
}

}  // namespace
}  // namespace headroom::findings
