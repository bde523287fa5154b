// SPDX-License-Identifier: Apache-2.0
#include "trainer/gpu_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "trainer/gpu_allocator.h"
#include "trainer/testing/tiny_job.h"

namespace headroom::trainer {
namespace {

using ::testing::HasSubstr;

// A libtorch that sees a GPU answers otherwise.
class NoGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (has_gpu()) GTEST_SKIP() << "there is a GPU";
  }
};

TEST_F(NoGpu, the_processor_is_taken_unless_a_gpu_is_asked_for) {
  Settings settings = testing::TinyJob().request()->settings;
  for (const char* asked : {"auto", "cpu"}) {
    const auto note = choose_device(asked, {}, settings);
    ASSERT_TRUE(note) << asked;
    EXPECT_FALSE(*note) << asked;
    EXPECT_FALSE(settings.model.gpu()) << asked;
  }
  const auto refused = choose_device("gpu", {}, settings);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("expected a libtorch that sees a GPU"));
  EXPECT_THAT(refused.error().next, HasSubstr("build-with-torch"));
}

TEST_F(NoGpu, memory_of_a_gpu_is_refused_with_what_helps) {
  const auto memory = DeviceMemory::create({.capacity = 32_MiB, .gpu = 0});
  ASSERT_FALSE(memory);
  EXPECT_THAT(memory.error().next, HasSubstr("--device cpu"));
}

TEST(GpuSettings, ranks_take_the_gpus_of_their_machine_in_turn) {
  RankPlace place;
  place.ranks = 6;
  place.on_this_machine = 3;
  for (const auto& [rank, sharing] : {std::pair{0U, 2U}, {1U, 1U}, {2U, 2U}, {3U, 2U}, {4U, 1U}}) {
    place.rank = rank;
    EXPECT_EQ(ranks_on_same_gpu(place, 2), sharing) << rank;
    EXPECT_EQ(ranks_on_same_gpu(place, 1), 3U) << rank;
    EXPECT_EQ(ranks_on_same_gpu(place, 4), 1U) << rank;
  }
}

}  // namespace
}  // namespace headroom::trainer
