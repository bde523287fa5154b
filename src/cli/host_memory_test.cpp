// SPDX-License-Identifier: Apache-2.0
#include "cli/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::cli {
namespace {

using testing::HasSubstr;

estimate::Plan plan_of(Bytes peak, std::optional<Bytes> capacity = std::nullopt) {
  estimate::Plan plan;
  plan.job.engine.kind = estimate::EngineKind::headroom;
  plan.device_bytes = peak.value;
  if (capacity) plan.capacity_bytes = capacity->value;
  return plan;
}

const std::vector<facts::MemoryRoom> rooms = {
    {"this machine", 16_GiB, 10_GiB, 512_MiB},
    {"the control group /box", 12_GiB, 11_GiB, 384_MiB},
};

TEST(HostMemoryWarning, a_job_that_fits_is_not_spoken_of) {
  EXPECT_FALSE(warn_of_host_memory(plan_of(4_GiB, 8_GiB), rooms));
  EXPECT_FALSE(warn_of_host_memory(plan_of(4_GiB), rooms));
}

TEST(HostMemoryWarning, a_peak_beyond_what_is_left_is_said_with_what_would_fit) {
  const auto warning = warn_of_host_memory(plan_of(11_GiB, 11_GiB), rooms);
  ASSERT_TRUE(warning.has_value());
  EXPECT_THAT(warning->message, HasSubstr("peak of 11.00 GiB is more than this machine has now"));
  EXPECT_THAT(warning->next, HasSubstr("capacity = \"9.50 GiB\""));
}

TEST(HostMemoryWarning, what_is_offloaded_is_in_the_same_memory) {
  estimate::Plan plan = plan_of(8_GiB, 11_GiB);
  plan.host.bytes = Bytes(3_GiB).value;
  const auto warning = warn_of_host_memory(plan, rooms);
  ASSERT_TRUE(warning.has_value());
  EXPECT_THAT(warning->message, HasSubstr("peak of 11.00 GiB"));
  EXPECT_THAT(warning->next, HasSubstr("capacity = \"6.50 GiB\""));
}

TEST(HostMemoryWarning, a_capacity_beyond_what_there_is_is_said_of_the_smallest_limit) {
  const auto warning = warn_of_host_memory(plan_of(4_GiB, 24_GiB), rooms);
  ASSERT_TRUE(warning.has_value());
  EXPECT_THAT(warning->message, HasSubstr("capacity of 24.00 GiB"));
  EXPECT_THAT(warning->message, HasSubstr("the control group /box can ever give"));
}

TEST(HostMemoryWarning, a_gpus_job_and_a_machine_that_says_nothing_are_no_reason) {
  estimate::Plan gpu = plan_of(100_GiB, 100_GiB);
  EXPECT_FALSE(warn_of_host_memory(gpu, {}));
  gpu.job.engine.kind = estimate::EngineKind::transformers;
  EXPECT_FALSE(warn_of_host_memory(gpu, rooms));
}

}  // namespace
}  // namespace headroom::cli
