// SPDX-License-Identifier: Apache-2.0
// Growth told from size: what led to a failed allocation.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>

#include "findings/causes/causes.h"
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using ::testing::Contains;
using testing::diagnose;
using ::testing::HasSubstr;

std::string steps(int count, const std::function<std::string(int)>& line) {
  std::string log;
  for (int step = 1; step <= count; ++step) log += line(step) + "\n";
  return log;
}

std::string out_of_memory(const char* asked, const char* allocated, const char* idle) {
  return fmt::format(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate {}. GPU 0 has a total capacity "
      "of 15.98 GiB of which 200.00 MiB is free. Of the allocated memory {} is allocated by "
      "PyTorch, "
      "and {} is reserved by PyTorch but unallocated.\n",
      asked, allocated, idle);
}

TEST(Growth, of_live_memory_until_the_failure_is_a_leak_in_the_program) {
  const auto log = steps(34, [](int step) {
    return fmt::format("[epoch 1, batch {}] loss 2.1 allocated: {:.2f} GiB reserved: {:.2f} GiB",
                       step, 5 + 0.28 * step, 5.4 + 0.28 * step);
  });
  const auto diagnosis = diagnose(log + out_of_memory("512.00 MiB", "14.60 GiB", "190.10 MiB"));
  EXPECT_EQ(diagnosis.cause.id, "app-bug");
  EXPECT_GE(diagnosis.cause.confidence, 0.7);
  EXPECT_GT(confidence_of(diagnosis, "job-too-big"), 0);
  EXPECT_THAT(diagnosis.cause.title, HasSubstr("each batch"));
  EXPECT_THAT(diagnosis.cause.reasons, Contains(HasSubstr("per batch")));
  ASSERT_TRUE(diagnosis.growth.has_value());
  EXPECT_EQ(diagnosis.growth->kind, GrowthKind::growing_live);
}

TEST(Growth, that_is_not_there_leaves_a_job_that_is_too_big) {
  const auto log = steps(34, [](int step) {
    return fmt::format("step {} loss 2.1 allocated: 14.55 GiB reserved: 14.80 GiB", step);
  });
  const auto diagnosis = diagnose(log + out_of_memory("1.50 GiB", "14.60 GiB", "190.10 MiB"));
  EXPECT_EQ(diagnosis.cause.id, "job-too-big");
  EXPECT_THAT(diagnosis.cause.reasons, Contains(HasSubstr("level")));
}

TEST(Growth, does_not_excuse_a_request_that_never_would_have_fitted) {
  const auto log = steps(34, [](int step) {
    return fmt::format("step {} allocated: {:.2f} GiB", step, 12 + 0.05 * step);
  });
  const auto diagnosis = diagnose(log + out_of_memory("9.00 GiB", "13.70 GiB", "190.10 MiB"));
  EXPECT_EQ(diagnosis.cause.id, "job-too-big");
}

TEST(Growth, of_reserved_memory_alone_is_fragmentation) {
  const auto log = steps(34, [](int step) {
    return fmt::format("step {} allocated: 8.00 GiB reserved: {:.2f} GiB", step, 8.4 + 0.2 * step);
  });
  const auto diagnosis = diagnose(log + out_of_memory("1.00 GiB", "8.00 GiB", "6.90 GiB"));
  EXPECT_EQ(diagnosis.cause.id, "fragmentation");
  EXPECT_THAT(diagnosis.cause.reasons, Contains(HasSubstr("reserved memory grew")));
}

TEST(Growth, of_two_figures_says_nothing) {
  const auto log = steps(
      2, [](int step) { return fmt::format("step {} allocated: {:.2f} GiB", step, 5.0 * step); });
  const auto diagnosis = diagnose(log + out_of_memory("1.50 GiB", "14.60 GiB", "190.10 MiB"));
  EXPECT_EQ(diagnosis.cause.id, "job-too-big");
  EXPECT_FALSE(diagnosis.growth.has_value());
}

TEST(Growth, of_a_healthy_run_is_no_cause) {
  const auto log = steps(34, [](int step) {
    return fmt::format("gfx1100 step {} allocated: {:.2f} GiB", step, 5 + 0.1 * step);
  });
  const auto diagnosis = diagnose(log + "Training completed\n");
  EXPECT_NE(diagnosis.cause.id, "app-bug");
  ASSERT_TRUE(diagnosis.growth.has_value());
}

TEST(Growth, of_host_memory_supports_a_kill_for_memory) {
  const auto log = steps(
      34, [](int step) { return fmt::format("step {} rss: {} MiB", step, 4000 + 300 * step); });
  const std::string killed = "State: OOMKilled exit code 137\nKilled\n";
  const auto without = diagnose(killed);
  const auto with = diagnose(log + killed);
  ASSERT_EQ(with.cause.id, "cgroup-memory-limit");
  EXPECT_GE(with.cause.confidence, without.cause.confidence);
  EXPECT_THAT(with.cause.reasons, Contains(HasSubstr("Host memory in use grew")));
}

}  // namespace
}  // namespace headroom::findings
