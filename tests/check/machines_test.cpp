// SPDX-License-Identifier: Apache-2.0
// Every machine of tests/machines through the whole of check: its text and its JSON are as
// expected.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/document.h"
#include "findings/diagnosis.h"
#include "machine/files.h"
#include "probe/probe.h"
#include "report/check_json.h"
#include "report/check_text.h"
#include "report/fact_list.h"
#include "support/golden.h"
#include "support/scratch.h"
#include "support/test_machines.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

const knowledge::GpuTables& tables() {
  static const knowledge::GpuTables loaded = *knowledge::load_gpu_tables();
  return loaded;
}

class Machines : public ::testing::TestWithParam<std::string> {};

TEST_P(Machines, text_and_json_are_as_expected) {
  const testing::Scratch scratch;
  ASSERT_NO_FATAL_FAILURE(testing::expand_named(GetParam(), scratch.path()));
  const machine::Files files = *machine::Files::open(scratch.string());
  const auto facts = probe::probe(files, tables());
  ASSERT_TRUE(facts.has_value()) << facts.error().message;
  const auto diagnosis = findings::diagnose({*facts, tables()});
  const std::string expected = (testing::machines_folder() / "expected" / GetParam()).string();
  EXPECT_TRUE(testing::matches_golden(
      expected + ".txt", to_text(*facts, diagnosis, report::Detail::normal, report::Style{})));
  auto document = report::to_json(*facts, diagnosis);
  document.erase("facts");  // Long, and every_fact_says_where_it_comes_from is about it.
  EXPECT_TRUE(testing::matches_golden(expected + ".json", report::to_text(document)));
}

TEST_P(Machines, every_fact_says_where_it_comes_from) {
  const testing::Scratch scratch;
  ASSERT_NO_FATAL_FAILURE(testing::expand_named(GetParam(), scratch.path()));
  const auto facts = probe::probe(*machine::Files::open(scratch.string()), tables());
  ASSERT_TRUE(facts.has_value()) << facts.error().message;
  for (const report::FactRow& row : report::list_facts(*facts)) {
    EXPECT_NE(row.value.empty(), row.missing.empty()) << row.gpu << " " << row.name;
    EXPECT_FALSE(row.source.empty()) << row.gpu << " " << row.name;
  }
}

INSTANTIATE_TEST_SUITE_P(, Machines, ::testing::ValuesIn(testing::machine_names()),
                         [](const auto& machine) {
                           std::string name = machine.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace headroom
