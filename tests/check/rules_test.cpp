// SPDX-License-Identifier: Apache-2.0
// Every rule speaks on some machine of tests/machines and is silent on another, and docs/rules/
// holds the page that its text makes.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "machine/files.h"
#include "probe/probe.h"
#include "report/environment_text.h"
#include "report/rule_page.h"
#include "support/golden.h"
#include "support/scratch.h"
#include "support/test_machines.h"

namespace headroom {
namespace {

using Examples = std::map<std::string_view, std::vector<report::RuleExample>>;

Examples find_examples() {
  Examples examples;
  const knowledge::GpuTables tables = *knowledge::load_gpu_tables();
  for (const std::string& name : testing::machine_names()) {
    const testing::Scratch scratch;
    testing::expand_named(name, scratch.path());
    const auto facts = *probe::probe(*machine::Files::open(scratch.string()), tables);
    for (const findings::Rule* rule : findings::rules()) {
      const auto found = rule->find({facts, tables});
      if (!found.empty()) examples[rule->id].push_back({name, found.front()});
    }
  }
  return examples;
}

TEST(Rules, each_speaks_on_some_machine_and_is_silent_on_another) {
  const Examples examples = find_examples();
  const std::size_t machines = testing::machine_names().size();
  std::set<std::string_view> ids;
  for (const findings::Rule* rule : findings::rules()) {
    EXPECT_TRUE(ids.insert(rule->id).second) << rule->id << " is there twice";
    const auto found = examples.find(rule->id);
    ASSERT_NE(found, examples.end()) << rule->id << " speaks on no machine of tests/machines";
    EXPECT_LT(found->second.size(), machines) << rule->id << " speaks on every machine";
  }
}

TEST(Rules, their_pages_say_what_their_text_says) {
  const Examples examples = find_examples();
  const auto folder = std::filesystem::path(HEADROOM_SOURCE_DIR) / "docs/rules";
  std::set<std::string> pages = {"README.md"};
  for (const findings::Rule* rule : findings::rules()) {
    const std::string page = std::string(rule->id) + ".md";
    pages.insert(page);
    ASSERT_TRUE(examples.contains(rule->id)) << rule->id;
    EXPECT_TRUE(testing::matches_golden((folder / page).string(),
                                        to_markdown(*rule, examples.at(rule->id))));
  }
  EXPECT_TRUE(testing::matches_golden((folder / "README.md").string(), report::rules_index()));
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_TRUE(pages.contains(entry.path().filename().string())) << entry.path() << " has no rule";
  }
}

TEST(Knobs, their_page_says_what_the_table_says) {
  const auto page = std::filesystem::path(HEADROOM_SOURCE_DIR) / "docs/knobs.md";
  EXPECT_TRUE(testing::matches_golden(page.string(), report::knobs_page(*knowledge::load_knobs())));
}

}  // namespace
}  // namespace headroom
