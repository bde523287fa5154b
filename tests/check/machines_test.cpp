// SPDX-License-Identifier: Apache-2.0
// Every machine of tests/machines through the whole of check: its text and its JSON are as
// expected, and with any one of its files gone check still answers.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "findings/diagnosis.h"
#include "machine/files.h"
#include "machine/user_files.h"
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

struct Answer {
  findings::Diagnosis diagnosis;
  std::string text, json;
};

Result<Answer> check(const fs::path& root) {
  HEADROOM_TRY(const machine::Files files, machine::Files::open(root.string()));
  HEADROOM_TRY(const facts::Facts facts, probe::probe(files, tables()));
  Answer answer;
  answer.diagnosis = findings::diagnose({facts, tables()});
  answer.text = to_text(facts, answer.diagnosis, report::Detail::verbose, report::Style{});
  answer.json = report::to_json_text(facts, answer.diagnosis);
  return answer;
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

TEST_P(Machines, any_one_file_may_be_gone) {
  const testing::Scratch scratch;
  const fs::path root = scratch.path() / "machine";
  const fs::path aside = scratch.path() / "aside";
  fs::create_directory(root);
  ASSERT_NO_FATAL_FAILURE(testing::expand_named(GetParam(), root));
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_symlink() || entry.is_regular_file()) paths.push_back(entry.path());
  }
  for (const fs::path& path : paths) {
    fs::rename(path, aside);
    const auto answer = check(root);
    ASSERT_TRUE(answer.has_value()) << "without " << path << ": " << answer.error().message;
    const int code = findings::exit_code(answer->diagnosis);
    EXPECT_TRUE(code == 0 || code == 1 || code == 3) << "without " << path;
    fs::rename(aside, path);
  }
}

// Text in the place of every number: nothing may crash, and nothing may be read as a number.
TEST_P(Machines, any_one_file_may_be_nonsense) {
  const testing::Scratch scratch;
  ASSERT_NO_FATAL_FAILURE(testing::expand_named(GetParam(), scratch.path()));
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(scratch.path())) {
    if (!entry.is_symlink() && entry.is_regular_file()) paths.push_back(entry.path());
  }
  for (const fs::path& path : paths) {
    const auto before = *machine::read_file(path.string());
    for (const std::string& nonsense :
         {std::string("99999999999999999999999\n"), std::string("\xff\x00\x1b[31m", 7),
          before.substr(0, before.size() / 2)}) {
      std::ofstream(path, std::ios::binary) << nonsense;
      const auto answer = check(scratch.path());
      ASSERT_TRUE(answer.has_value()) << path << ": " << answer.error().message;
      EXPECT_EQ(answer->text.find('\x1b'), std::string::npos) << path;
    }
    std::ofstream(path, std::ios::binary) << before;
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
