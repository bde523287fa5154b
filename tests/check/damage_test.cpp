// SPDX-License-Identifier: Apache-2.0
// Every file of every machine in turn is deleted, emptied, cut in half, and filled with nonsense:
// check answers all the same, and no fact cites a file that is not there or says nothing. Machines
// of tests/machines, and the recorded ones where they are kept beside the repository.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "findings/diagnosis.h"
#include "machine/files.h"
#include "machine/user_files.h"
#include "probe/probe.h"
#include "report/check_json.h"
#include "report/check_text.h"
#include "report/fact_list.h"
#include "support/scratch.h"
#include "support/test_machines.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

struct Subject {
  std::string name;
  fs::path recorded;  // Empty: a machine of tests/machines.

  friend void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }
};

std::vector<Subject> find_subjects() {
  std::vector<Subject> subjects;
  for (const std::string& name : testing::machine_names()) subjects.push_back({name, {}});
  const fs::path recorded = HEADROOM_SHARED_DIR "/snapshots";
  if (!fs::is_directory(recorded)) return subjects;
  for (const auto& entry : fs::directory_iterator(recorded)) {
    if (fs::is_directory(entry.path() / "sys")) {
      subjects.push_back({"recorded-" + entry.path().filename().string(), entry.path()});
    }
  }
  std::sort(subjects.begin(), subjects.end(),
            [](const Subject& a, const Subject& b) { return a.name < b.name; });
  return subjects;
}

const knowledge::GpuTables& tables() {
  static const knowledge::GpuTables loaded = *knowledge::load_gpu_tables();
  return loaded;
}

class Damage : public ::testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    if (GetParam().recorded.empty()) {
      testing::expand_named(GetParam().name, root());
    } else {
      fs::copy(GetParam().recorded, root(),
               fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    }
    for (const auto& entry : fs::recursive_directory_iterator(root())) {
      const bool ours = entry.path().filename() != "MANIFEST.json";  // Not of the machine.
      if (ours && !entry.is_symlink() && entry.is_regular_file()) files_.push_back(entry.path());
    }
  }

  const fs::path& root() const { return scratch_.path(); }

  // The facts, if the whole of check answers: every report is made, and none steers a terminal.
  facts::Facts look(const fs::path& damaged) const {
    const auto files = machine::Files::open(root().string());
    EXPECT_TRUE(files.has_value()) << damaged;
    auto facts = probe::probe(*files, tables());
    EXPECT_TRUE(facts.has_value()) << damaged << ": " << facts.error().message;
    if (!facts) return {};
    const auto diagnosis = findings::diagnose({*facts, tables()});
    const int code = findings::exit_code(diagnosis);
    EXPECT_TRUE(code == 0 || code == 1 || code == 3) << damaged;
    const auto text = to_text(*facts, diagnosis, report::Detail::verbose, report::Style{});
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << damaged;
    EXPECT_FALSE(report::to_json_text(*facts, diagnosis).empty()) << damaged;
    return *std::move(facts);
  }

  // No value may be said to come from `path`, or from what is not there at all.
  void expect_nothing_from(const fs::path& path, const facts::Facts& facts) const {
    const auto files = *machine::Files::open(root().string());
    const std::string shown = "/" + fs::relative(path, root()).string();
    for (const report::FactRow& row : report::list_facts(facts)) {
      const bool cited = !row.value.empty() && row.source.starts_with('/') && row.name != "name";
      if (!cited || is_about_presence(row)) continue;
      const auto real = files.resolve(row.source);
      EXPECT_TRUE(real.has_value())
          << row.name << " cites " << row.source << ", which is not there";
      EXPECT_TRUE(!real || *real != shown) << row.name << " = " << row.value << " cites " << shown;
    }
  }

  // "No such node" is a fact too, and its source is what was looked for.
  static bool is_about_presence(const report::FactRow& row) { return row.value == "no"; }

  std::vector<fs::path> files_;

 private:
  testing::Scratch scratch_;
};

TEST_P(Damage, any_one_file_may_be_gone) {
  const fs::path aside = root().string() + ".aside";
  for (const fs::path& path : files_) {
    fs::rename(path, aside);
    expect_nothing_from(path, look(path));
    fs::rename(aside, path);
  }
}

TEST_P(Damage, any_one_file_may_be_empty) {
  for (const fs::path& path : files_) {
    const auto before = *machine::read_file(path.string());
    std::ofstream(path, std::ios::binary) << "";
    const auto facts = look(path);
    // A device node stands there as an empty file, and is said to be there.
    if (!before.empty()) expect_nothing_from(path, facts);
    std::ofstream(path, std::ios::binary) << before;
  }
}

TEST_P(Damage, any_one_file_may_be_cut_or_nonsense) {
  for (const fs::path& path : files_) {
    const auto before = *machine::read_file(path.string());
    for (const std::string& nonsense :
         {std::string("99999999999999999999999\n"), std::string("\xff\x00\x1b[31m -1 \n", 12),
          before.substr(0, before.size() / 2)}) {
      std::ofstream(path, std::ios::binary) << nonsense;
      look(path);
    }
    std::ofstream(path, std::ios::binary) << before;
  }
}

INSTANTIATE_TEST_SUITE_P(, Damage, ::testing::ValuesIn(find_subjects()), [](const auto& subject) {
  std::string name = subject.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
});

}  // namespace
}  // namespace headroom
