// SPDX-License-Identifier: Apache-2.0
#include "facts/visible_devices.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

using Positions = std::vector<std::size_t>;

constexpr std::uint64_t first = 0x00d1aa0000000001, second = 0x00d1bb0000000002;

VisibleDevices see(const Variables& environment,
                   const std::vector<std::uint64_t>& ids = {first, second, 0, 0}) {
  return apply_masks(ids, find_masks(environment, Source{"/proc/1/environ", 0, ""}));
}

TEST(VisibleDevices, without_a_mask_all_are_seen_in_the_order_of_the_nodes) {
  EXPECT_EQ(see({{"PATH", "/bin"}}).rocr, (Positions{0, 1, 2, 3}));
  EXPECT_EQ(see({}).hip, (Positions{0, 1, 2, 3}));
}

TEST(VisibleDevices, hip_counts_what_rocr_left) {
  const auto seen = see({{"ROCR_VISIBLE_DEVICES", "3,1"}, {"HIP_VISIBLE_DEVICES", "1"}});
  EXPECT_EQ(seen.rocr, (Positions{3, 1}));
  EXPECT_EQ(seen.hip, (Positions{1}));
}

TEST(VisibleDevices, cuda_s_mask_counts_only_without_hip_s) {
  EXPECT_EQ(see({{"CUDA_VISIBLE_DEVICES", "2"}}).hip, (Positions{2}));
  EXPECT_EQ(see({{"CUDA_VISIBLE_DEVICES", "2"}, {"HIP_VISIBLE_DEVICES", "1"}}).hip, (Positions{1}));
  EXPECT_EQ(see({{"CUDA_VISIBLE_DEVICES", "2"}, {"HIP_VISIBLE_DEVICES", ""}}).hip, (Positions{2}));
}

TEST(VisibleDevices, a_word_that_names_no_gpu_ends_the_list) {
  const auto seen = see({{"HIP_VISIBLE_DEVICES", "1,7,0"}});
  EXPECT_EQ(seen.hip, (Positions{1}));
  ASSERT_EQ(seen.rejected.size(), 1U);
  EXPECT_EQ(seen.rejected[0].word, "7");
  EXPECT_TRUE(see({{"HIP_VISIBLE_DEVICES", "-1"}}).hip.empty());
  EXPECT_TRUE(see({{"HIP_VISIBLE_DEVICES", " 1"}}).hip.empty());
}

TEST(VisibleDevices, an_empty_mask_hides_all_from_rocr_and_nothing_from_hip) {
  EXPECT_TRUE(see({{"ROCR_VISIBLE_DEVICES", ""}}).rocr.empty());
  EXPECT_EQ(see({{"HIP_VISIBLE_DEVICES", ""}}).hip.size(), 4U);
}

TEST(VisibleDevices, a_repeated_word_ends_rocr_s_list_and_not_hip_s) {
  EXPECT_EQ(see({{"ROCR_VISIBLE_DEVICES", "1,1,0"}}).rocr, (Positions{1}));
  EXPECT_EQ(see({{"HIP_VISIBLE_DEVICES", "1,1,0"}}).hip, (Positions{1, 0}));
}

TEST(VisibleDevices, ids_are_matched_by_their_beginning_if_only_one_fits) {
  EXPECT_EQ(see({{"ROCR_VISIBLE_DEVICES", "gpu-00D1bb"}}).rocr, (Positions{1}));
  EXPECT_TRUE(see({{"ROCR_VISIBLE_DEVICES", "GPU-00d1"}}).rocr.empty());
  EXPECT_TRUE(see({{"ROCR_VISIBLE_DEVICES", "GPU-0000000000000000"}}).rocr.empty());
  EXPECT_EQ(see({{"HIP_VISIBLE_DEVICES", "GPU-00d1aa0000000001"}}).hip, (Positions{0}));
  EXPECT_TRUE(see({{"HIP_VISIBLE_DEVICES", "GPU-00d1aa"}}).hip.empty());
}

TEST(VisibleDevices, a_mask_without_gpus_is_no_crash) {
  EXPECT_TRUE(see({{"ROCR_VISIBLE_DEVICES", "0"}}, {}).rocr.empty());
}

}  // namespace
}  // namespace headroom::facts
