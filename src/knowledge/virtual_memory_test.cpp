// SPDX-License-Identifier: Apache-2.0
#include "knowledge/virtual_memory.h"

#include <gtest/gtest.h>

#include "knowledge/gpu_tables.h"

namespace headroom::knowledge {
namespace {

std::string denied(const char* gfx, const char* runtime) {
  const auto denials = *load_virtual_memory();
  const VirtualMemoryDenial* found = find_denial(denials, gfx, runtime);
  return found == nullptr ? "" : found->id;
}

TEST(VirtualMemoryTable, names_targets_that_exist_and_its_sources) {
  const auto tables = *load_gpu_tables();
  const auto denials = load_virtual_memory();
  ASSERT_TRUE(denials.has_value()) << denials.error().message;
  ASSERT_FALSE(denials->empty());
  for (const VirtualMemoryDenial& denial : *denials) {
    EXPECT_FALSE(denial.origin.source.empty()) << denial.id;
    for (const std::string& gfx : denial.gfx) EXPECT_NE(tables.target(gfx), nullptr) << gfx;
  }
}

TEST(VirtualMemoryTable, denies_the_pairs_that_are_known_to_lose_data_and_no_others) {
  EXPECT_EQ(denied("gfx1201", "7.2.53211"), "gfx1201-zeros-after-mapping");
  EXPECT_EQ(denied("gfx1201", "6.4"), "gfx1201-zeros-after-mapping");
  EXPECT_EQ(denied("gfx1201", "7.14.60850"), "live-data-zeroed-7.14");
  EXPECT_EQ(denied("gfx1100", "7.14"), "live-data-zeroed-7.14");
  EXPECT_EQ(denied("gfx1100", "7.2"), "");
  EXPECT_EQ(denied("gfx1100", "7.15"), "");
  EXPECT_EQ(denied("gfx942", "7.14"), "");
}

TEST(VirtualMemoryTable, a_version_that_is_not_known_excludes_nothing) {
  EXPECT_EQ(denied("gfx1100", ""), "live-data-zeroed-7.14");
  EXPECT_EQ(denied("gfx1100", "unknown"), "live-data-zeroed-7.14");
  EXPECT_EQ(denied("gfx942", ""), "");
}

TEST(VirtualMemoryTable, mistakes_name_their_line) {
  for (const char* row :
       {"gfx = []\nhip = [\"7..8\"]", "gfx = [\"gfx1100\"]\nhip = []",
        "gfx = [\"gfx1100\"]\nhip = [\"7\"]", "gfx = [\"gfx1100\"]\nhip = [\"..\"]",
        "gfx = [\"gfx1100\"]\nhip = [\"7..8\"]\nmore = 1"}) {
    const auto parsed =
        parse_virtual_memory(std::string("[[deny]]\nid = \"x\"\nhappens = \"y\"\n") +
                             "certainty = \"A\"\nsource = \"z\"\n" + row + "\n");
    ASSERT_FALSE(parsed.has_value()) << row;
    EXPECT_NE(parsed.error().message.find("line "), std::string::npos) << parsed.error().message;
  }
}

}  // namespace
}  // namespace headroom::knowledge
