// SPDX-License-Identifier: Apache-2.0
// Where nothing is known to have failed: what still speaks against health, and what does not.
#include "findings/causes/conclusions.h"

#include <gtest/gtest.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::diagnose;

TEST(Healthy, a_log_that_ends_while_a_model_loads_is_not_health) {
  constexpr std::string_view amd_machine = R"({"vendor": "AMD"})";
  const std::string start =
      "INFO     Application startup complete.\nINFO     Loading recognition model 'x' to memory\n";
  EXPECT_EQ(diagnose(start, amd_machine).cause.id, "insufficient-evidence");
  EXPECT_EQ(diagnose(start + "[GIN] 2026/01/01 - 10:00:00 | 200 |  3.1s |  127.0.0.1 | POST     "
                             "\"/api/generate\"\n",
                     amd_machine)
                .cause.id,
            "none");
}

TEST(Healthy, a_program_that_gives_up_after_its_start_is_not_health) {
  const std::string start = "main: server is listening on http://127.0.0.1:9 - starting\n";
  for (const std::string end :
       {"terminate called after throwing an instance of 'std::length_error'\n",
        "thread 'worker' panicked at 'index out of bounds', src/device.rs:7\n"}) {
    EXPECT_EQ(diagnose(start + end, R"({"vendor": "AMD"})").cause.id, "insufficient-evidence")
        << end;
  }
}

TEST(Healthy, a_firmware_file_that_the_driver_does_without_is_none_to_blame) {
  const std::string missing =
      "[ 2.1] amdgpu 0000:03:00.0: Direct firmware load for amdgpu/isp_4_1_1.bin failed with error "
      "-2\n";
  EXPECT_EQ(diagnose(missing + "[ 2.9] [drm] Initialized amdgpu 3.61.0 for 0000:03:00.0 on minor "
                               "1\n",
                     R"({"vendor": "AMD"})")
                .cause.id,
            "none");
  EXPECT_NE(diagnose(missing + "[ 2.9] amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init\n",
                     R"({"vendor": "AMD"})")
                .cause.id,
            "none");
}

TEST(Healthy, a_remark_that_the_machine_froze_speaks_against_it) {
  const std::string start = "To see the GUI go to: http://127.0.0.1:8188\n";
  EXPECT_NE(diagnose(start + "then the whole screen freezes and only the power button helps\n",
                     R"({"vendor": "AMD"})")
                .cause.id,
            "none");
  EXPECT_EQ(diagnose(start + "error: timed out waiting for the worker\n", R"({"vendor": "AMD"})")
                .cause.id,
            "insufficient-evidence");
}

TEST(Healthy, a_job_that_freezes_its_layers_does_not_hang) {
  const std::string steps = "step 10 loss 3.2\nstep 20 loss 3.1\n";
  constexpr std::string_view stated = R"({"vendor": "AMD"})";
  for (const std::string start :
       {"Freezes layers 0-11 of the encoder\n", "it freezes the head\n"}) {
    EXPECT_EQ(diagnose(start + steps, stated).cause.id, "none") << start;
  }
  for (const std::string end : {"it freezes\n", "then it freezes after a minute\n", "froze.\n"}) {
    EXPECT_NE(diagnose(steps + end, stated).cause.id, "none") << end;
  }
}

TEST(Healthy, a_worker_that_ends_unexpectedly_is_not_health) {
  const std::string start =
      "INFO:     Application startup complete.\n"
      "INFO:     192.168.1.20:51840 - \"POST /api/train/start HTTP/1.1\" 200 OK\n";
  for (const std::string end : {"{\"message\":\"Training process exited unexpectedly\"}\n",
                                "The worker quit unexpectedly.\n"}) {
    EXPECT_EQ(diagnose(start + end, R"({"vendor": "AMD"})").cause.id, "insufficient-evidence")
        << end;
  }
}

TEST(Conclusions, the_head_of_nvidia_smis_list_of_processes_tells_the_vendor) {
  const auto got = testing::diagnose(
      "| Processes:                                          GPU Memory |\n"
      "|  GPU       PID  Type  Process name                    Usage     |\n"
      "|    0     31794    C   Unknown Error                   5371MiB   |\n");
  EXPECT_EQ(got.cause.id, "not-amd-gpu");
}

}  // namespace
}  // namespace headroom::findings
