// SPDX-License-Identifier: Apache-2.0
#include "run/command/attempt_diagnosis.h"

#include <gtest/gtest.h>

#include <string>

#include "run/command/log_watch.h"

namespace headroom::run {
namespace {

class AttemptDiagnosis : public testing::Test {
 protected:
  supervisor::event::Diagnosed diagnose(const std::string& errors, std::uint64_t kernel_kills = 0) {
    const auto tables = knowledge::load_gpu_tables();
    LogRules rules;
    LogWatch watch(rules, false);
    watch.feed(LogStream::output, "step 1\n");
    watch.feed(LogStream::errors, errors);
    watch.finish();
    const logs::Observations log = watch.observations();
    return diagnose_attempt({.log = log,
                             .log_names = watch.names(),
                             .exit = {1, std::nullopt},
                             .kernel_kills = kernel_kills,
                             .limit = 1_GiB,
                             .over_limit = std::nullopt},
                            nullptr, *tables);
  }
};

TEST_F(AttemptDiagnosis, a_framework_out_of_memory_asks_for_smaller_settings) {
  const auto answer =
      diagnose("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.\n");
  EXPECT_TRUE(answer.out_of_memory);
  ASSERT_TRUE(answer.cause);
  EXPECT_EQ(answer.cause->evidence.front().source, "stderr");
}

TEST_F(AttemptDiagnosis, a_full_disk_does_not) {
  const auto answer = diagnose("OSError: [Errno 28] No space left on device\n");
  EXPECT_FALSE(answer.out_of_memory);
  EXPECT_EQ(answer.cause->id, "disk-full");
}

TEST_F(AttemptDiagnosis, what_the_group_counted_needs_no_log) {
  const auto answer = diagnose("", 1);
  EXPECT_TRUE(answer.out_of_memory);
  EXPECT_TRUE(answer.killed_by_kernel);
  EXPECT_EQ(answer.cause->id, "cgroup-memory-limit");
}

TEST_F(AttemptDiagnosis, a_program_that_says_nothing_leaves_the_cause_open) {
  const auto answer = diagnose("");
  EXPECT_FALSE(answer.out_of_memory);
  EXPECT_EQ(answer.cause->id, "insufficient-evidence");
}

}  // namespace
}  // namespace headroom::run
