// SPDX-License-Identifier: Apache-2.0
// GPUs that masks, a container's list of nodes or an override take away from a job.
#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::diagnose;
using ::testing::HasSubstr;

constexpr std::string_view amd = R"({"vendor": "AMD"})";
const std::string lost =
    "ggml_cuda_init: failed to initialize ROCm: no ROCm-capable device is detected\n";

TEST(HiddenGpus, two_masks_in_one_line_count_one_within_the_other) {
  for (const std::string masks :
       {"env: HIP_VISIBLE_DEVICES=1 ROCR_VISIBLE_DEVICES=1\n",
        "starting runner with {'ROCR_VISIBLE_DEVICES': '2', 'HIP_VISIBLE_DEVICES': '2'}\n",
        "Environment: ROCR_VISIBLE_DEVICES=0,1 CUDA_VISIBLE_DEVICES=2\n"}) {
    const auto found = diagnose(masks + lost, amd);
    EXPECT_EQ(found.cause.id, "device-index") << masks;
    EXPECT_GE(found.cause.confidence, 0.85) << masks;
  }
}

TEST(HiddenGpus, two_masks_that_leave_a_gpu_are_not_to_blame) {
  const auto found = diagnose("env: HIP_VISIBLE_DEVICES=0 ROCR_VISIBLE_DEVICES=1\n" + lost, amd);
  EXPECT_NE(found.cause.id, "device-index");
}

TEST(HiddenGpus, a_container_with_one_node_has_only_number_zero) {
  const auto run = diagnose(
      "$ docker run --device=/dev/kfd --device=/dev/dri/renderD131 -e HIP_VISIBLE_DEVICES=3 app\n"
      "RuntimeError: No HIP GPUs are available\n",
      amd);
  EXPECT_EQ(run.cause.id, "device-index");
  const auto compose = diagnose(
      "    devices:\n"
      "      - /dev/kfd\n"
      "      - /dev/dri/renderD129\n"
      "    environment:\n"
      "      HIP_VISIBLE_DEVICES: \"1\"\n"
      "app-1 | RuntimeError: No HIP GPUs are available\n",
      amd);
  EXPECT_EQ(compose.cause.id, "device-index");
}

TEST(HiddenGpus, a_container_with_all_nodes_or_the_first_index_is_not_to_blame) {
  for (const std::string command :
       {"$ docker run --device=/dev/kfd --device=/dev/dri -e HIP_VISIBLE_DEVICES=3 app\n",
        "$ docker run --device=/dev/kfd --device=/dev/dri/renderD131 -e HIP_VISIBLE_DEVICES=0 "
        "app\n"}) {
    const auto found = diagnose(command + "RuntimeError: No HIP GPUs are available\n", amd);
    EXPECT_NE(found.cause.id, "device-index") << command;
  }
}

TEST(HiddenGpus, an_override_that_is_set_to_nothing_hides_them) {
  for (const std::string set :
       {"      HSA_OVERRIDE_GFX_VERSION: \"\"\n", "$ export HSA_OVERRIDE_GFX_VERSION=\n",
        "    - HSA_OVERRIDE_GFX_VERSION=${HSA_OVERRIDE_GFX_VERSION:-}\n"}) {
    EXPECT_EQ(diagnose(set + lost, amd).cause.id, "gfx-override-wrong") << set;
  }
  // ollama lists what is not set in the same way.
  const auto unset = diagnose(
      "level=INFO msg=\"server config\" env=\"map[HSA_OVERRIDE_GFX_VERSION: "
      "OLLAMA_DEBUG:false]\"\n" +
          lost,
      amd);
  EXPECT_NE(unset.cause.id, "gfx-override-wrong");
}

TEST(HiddenGpus, one_override_for_two_cards_harms_the_one_it_does_not_suit) {
  constexpr std::string_view two = R"({"vendor": "AMD", "gfx": "gfx1200, gfx1032"})";
  const auto found = diagnose(
      "$ export HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
      "HW Exception by GPU node-1 (Agent handle: 0x2f0d2c80) reason :GPU Hang\n",
      two);
  EXPECT_EQ(found.cause.id, "gfx-override-wrong");
  EXPECT_THAT(found.cause.title, HasSubstr("gfx1200"));
  // Where it suits every card, something else hangs.
  EXPECT_NE(diagnose("$ export HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
                     "HW Exception by GPU node-1 (Agent handle: 0x2f0d2c80) reason :GPU Hang\n",
                     R"({"vendor": "AMD", "gfx": "gfx1031, gfx1032"})")
                .cause.id,
            "gfx-override-wrong");
}

TEST(HiddenGpus, a_list_of_devices_that_ran_rocm_is_a_build_with_rocm) {
  const auto found = diagnose(
      "$ ./llama-cli --list-devices\n"
      "ggml_cuda_init: found 2 ROCm devices:\n"
      "  Device 0: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32\n"
      "  Device 1: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32\n"
      "Available devices:\n"
      "  ROCm0: AMD Radeon RX 7900 XTX (24560 MiB, 24500 MiB free)\n",
      amd);
  EXPECT_NE(found.cause.id, "backend-unavailable");
}

TEST(HiddenGpus, a_user_outside_the_group_gets_no_agent_and_no_unsupported_gpu) {
  const auto found = diagnose(
      "Warning: Agent creation failed.\n"
      "The GPU node has an unrecognized id.\n"
      "/sys/class/kfd/kfd/topology/nodes/1/properties:gfx_target_version 110501\n"
      "crw-rw---- 1 root render 235, 0 Sep 14 08:41 /dev/kfd\n"
      "uid=1000(ada) gid=1000(ada) groups=1000(ada),27(sudo)\n",
      amd);
  EXPECT_EQ(found.cause.id, "device-permission");
}

}  // namespace
}  // namespace headroom::findings
