// SPDX-License-Identifier: Apache-2.0
#include "run/command/kernel_lines.h"

#include <gtest/gtest.h>

namespace headroom::run {
namespace {

TEST(KernelLines, what_the_gpus_driver_says_concerns_every_job) {
  EXPECT_TRUE(concerns_command("[   12.000000] amdgpu 0000:03:00.0: amdgpu: GPU reset begin!", {}));
}

TEST(KernelLines, another_jobs_out_of_memory_kill_is_none_of_ours) {
  const char* line = "[ 4711.000001] Memory cgroup out of memory: Killed process 815 (python)";
  EXPECT_TRUE(concerns_command(line, {815}));
  EXPECT_FALSE(concerns_command(line, {816}));
  EXPECT_FALSE(concerns_command(line, {4711})) << "the time is no process";
}

TEST(KernelLines, what_else_the_kernel_says_is_left_out) {
  EXPECT_FALSE(concerns_command("[    1.000000] usb 1-1: new device number 815", {815}));
}

}  // namespace
}  // namespace headroom::run
