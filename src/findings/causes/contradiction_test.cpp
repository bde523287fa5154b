// SPDX-License-Identifier: Apache-2.0
// What speaks against a cause lowers it and is named; what is about something else does not.
#include "findings/causes/contradiction.h"

#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::diagnose;
using ::testing::HasSubstr;

constexpr std::string_view refusal =
    "$ ls -ln /dev/kfd\n"
    "crw-rw---- 1 65534 65534 510, 0 Feb  3 08:12 /dev/kfd\n"
    "$ id\n"
    "uid=1000(ada) gid=1000(ada) groups=1000(ada),39(video),105(render),65534(nogroup)\n"
    "$ rocminfo\n"
    "ROCk module is loaded\n"
    "Unable to open /dev/kfd read-write: Permission denied\n";

TEST(Contradiction, a_refusal_that_is_shown_outweighs_what_a_table_says_of_releases) {
  const auto got = diagnose(
      refusal,
      R"({"vendor": "AMD", "gfx": "gfx1151", "rocm": "7.2", "kernel": "6.14.0-1010-oem"})");
  EXPECT_EQ(got.cause.id, "device-permission");
}

TEST(Contradiction, a_result_of_the_gpu_speaks_against_missing_code) {
  const std::string failure = "RuntimeError: HIP error: invalid device function\n";
  const std::string product = "tensor([[2., 2.], [2., 2.]], device='cuda:0')\n";
  const std::string_view stated = R"({"vendor": "AMD", "gfx": "gfx1031"})";
  const double alone = testing::confidence_of(diagnose(failure, stated), "gfx-target-missing");
  const auto both = diagnose(product + failure, stated);
  ASSERT_GT(alone, 0);
  EXPECT_LT(testing::confidence_of(both, "gfx-target-missing"), alone);
  EXPECT_LT(both.cause.confidence, 0.8);
}

TEST(Contradiction, it_is_named_with_its_line) {
  logs::Observations log;
  knowledge::Signature work{"tensor-on-gpu", "", knowledge::Role::progress, "", 0, {}};
  logs::Observation seen;
  seen.signature = &work;
  seen.line = 7;
  seen.log_name = "job.log";
  log.add(seen);
  const Scene scene;
  const std::vector<std::string> names = {"job.log"};
  const LogSubject subject{log, scene, testing::tables().gpus, names};
  Hypothesis missing;
  missing.confidence = 0.9;
  EXPECT_TRUE(weigh_contradictions(subject, "gfx-target-missing", missing));
  EXPECT_LE(missing.confidence, most_in_doubt);
  ASSERT_EQ(missing.against.size(), 1U);
  EXPECT_EQ(missing.against.front().source, "job.log");
  EXPECT_EQ(missing.against.front().line, 7);
  EXPECT_THAT(missing.against.front().meaning, HasSubstr("computed a result"));
  Hypothesis hang;
  hang.confidence = 0.9;
  EXPECT_FALSE(weigh_contradictions(subject, "gpu-hang", hang));
  EXPECT_EQ(hang.confidence, 0.9);
}

TEST(Contradiction, a_run_with_vulkan_does_not_fail_for_want_of_rocms_code) {
  const std::string vulkan = "ggml_vulkan: 0 = AMD Radeon Graphics (RADV RENOIR) (radv) | uma: 1\n";
  const std::string hang =
      "terminate called after throwing an instance of 'vk::DeviceLostError'\n"
      "Aborted (core dumped)\n"
      "amdgpu 0000:0b:00.0: amdgpu: ring comp_1.0.0 timeout, signaled seq=5120, emitted seq=5123\n"
      "amdgpu 0000:0b:00.0: amdgpu: GPU reset begin!. Source:  1\n";
  const std::string_view apu = R"({"vendor": "AMD", "gfx": "gfx90c"})";
  EXPECT_EQ(diagnose("$ ./llama-server -m a.gguf\n" + vulkan + hang, apu).cause.id, "gpu-hang");
  const std::string crash = "Segmentation fault (core dumped)\n";
  const auto refused = [&](const std::string& before) {
    return testing::confidence_of(diagnose(before + crash, apu), "gpu-unsupported");
  };
  // Vulkan in another run, or beside ROCm, says nothing of this one.
  const std::string rocm = "  Device 0: AMD Radeon Graphics, gfx90c:xnack- (0x90c), VMM: no\n";
  EXPECT_LT(refused("$ ./llama-cli\n" + vulkan), refused("$ ./llama-cli\n" + rocm));
  EXPECT_EQ(refused("$ ./llama-cli\n" + vulkan + "$ ./llama-cli\n" + rocm),
            refused("$ ./llama-cli\n" + rocm));
}

TEST(Contradiction, a_device_lost_for_want_of_memory_did_not_hang) {
  constexpr std::string_view amd = R"({"vendor": "AMD", "gpu": "Radeon 780M"})";
  const std::string lost = "vk::Queue::submit: ErrorDeviceLost\n";
  EXPECT_EQ(diagnose(lost, amd).cause.id, "gpu-hang");
  EXPECT_NE(
      diagnose("radv/amdgpu: Not enough memory for command submission\n" + lost, amd).cause.id,
      "gpu-hang");
}

TEST(Contradiction, a_job_that_another_release_runs_is_not_too_big) {
  constexpr std::string_view amd = R"({"vendor": "AMD", "gfx": "gfx1100"})";
  const std::string refused =
      "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 2048.00 MiB on device 0: cudaMalloc "
      "failed: out of memory\n";
  EXPECT_EQ(diagnose(refused, amd).cause.id, "job-too-big");
  EXPECT_EQ(diagnose(refused + "ollama 0.32.9 runs the same model. 0.32.10 fails.\n", amd).cause.id,
            "framework-bug");
  EXPECT_EQ(
      diagnose(refused + "vLLM 0.9.1 works with the same command, 0.9.2 fails.\n", amd).cause.id,
      "framework-bug");
}

}  // namespace
}  // namespace headroom::findings
