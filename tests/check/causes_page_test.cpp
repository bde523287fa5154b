// SPDX-License-Identifier: Apache-2.0
// docs/causes.md is what the rules' texts say.
#include "report/causes_page.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "support/golden.h"

namespace headroom {
namespace {

TEST(CausesPage, says_what_the_rules_say) {
  const auto page = std::filesystem::path(HEADROOM_SOURCE_DIR) / "docs/causes.md";
  EXPECT_TRUE(testing::matches_golden(page.string(), report::causes_page()));
}

TEST(CausesPage, every_link_leads_to_a_section_of_the_page) {
  const std::string page = report::causes_page();
  constexpr std::string_view mark = "](#";
  std::size_t links = 0;
  for (std::size_t at = page.find(mark); at != std::string::npos; at = page.find(mark, at + 1)) {
    const std::size_t begin = at + mark.size();
    const std::string id = page.substr(begin, page.find(')', begin) - begin);
    EXPECT_NE(page.find("\n## " + id + "\n"), std::string::npos) << id;
    ++links;
  }
  EXPECT_GT(links, 0U);
}

}  // namespace
}  // namespace headroom
