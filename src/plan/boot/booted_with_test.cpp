// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/booted_with.h"

#include <gtest/gtest.h>

namespace headroom::plan {
namespace {

std::size_t old_words(std::string_view command_line) {
  Change change;
  change.boots_with = {"iommu=pt", "ttm.pages_limit=7"};
  change.boots_without = {"amdgpu.gttsize"};
  return find_old_words(change, command_line).size();
}

TEST(BootedWith, every_word_counts) {
  EXPECT_EQ(old_words("ro quiet iommu=pt ttm.pages_limit=7\n"), 0U);
  EXPECT_EQ(old_words("ro iommu=pt ttm.pages-limit=8"), 1U);
  EXPECT_EQ(old_words("ro iommu=pt ttm.pages_limit=7 amdgpu.gttsize=5"), 1U);
  EXPECT_EQ(old_words("ro amdgpu.gttsize=5"), 3U);
  EXPECT_EQ(old_words(""), 2U);
}

TEST(BootedWith, a_change_of_no_command_line_is_in_every_boot) {
  EXPECT_TRUE(find_old_words(Change{}, "ro").empty());
}

}  // namespace
}  // namespace headroom::plan
