// SPDX-License-Identifier: Apache-2.0
// The memory limits of APUs, planned on whole machines: the recorded Strix Halo before and after
// its limit was raised, where it is kept beside the repository, and every distribution's scratch
// root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/shell_quote.h"
#include "findings/diagnosis.h"
#include "machine/files.h"
#include "machine/user_files.h"
#include "plan/change_json.h"
#include "plan/fix.h"
#include "plan/forecast.h"
#include "probe/probe.h"
#include "probe/read_boot_setup.h"
#include "report/change_json.h"
#include "report/change_script.h"
#include "report/change_text.h"
#include "support/distribution.h"
#include "support/scratch.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const knowledge::GpuTables& tables() {
  static const knowledge::GpuTables loaded = *knowledge::load_gpu_tables();
  return loaded;
}

// One machine, looked at once.
struct Machine {
  explicit Machine(const std::string& root)
      : files(*machine::Files::open(root)),
        facts(*probe::probe(files, tables())),
        diagnosis(findings::diagnose({facts, tables()})),
        boot(probe::read_boot_setup(files, facts.machine)) {}

  Result<plan::Change> plan(const std::string& id, const std::string& size) const {
    plan::FixOptions options;
    options.size = size;
    options.program = "/usr/bin/headroom";
    options.words = {"headroom", "fix", id};
    if (!size.empty()) options.words.insert(options.words.end(), {"--size", size});
    return plan::find_fix(id)->plan({facts, diagnosis, tables(), boot, settings, options});
  }

  machine::Files files;
  facts::Facts facts;
  findings::Diagnosis diagnosis;
  facts::BootSetup boot;
  std::vector<facts::ConfigFile> settings;
};

std::string value_of(const plan::Change& change, const std::string& name) {
  for (const auto& [parameter, value] : change.forecast->parameters) {
    if (parameter == name) return value;
  }
  return "";
}

class StrixHalo : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::is_directory(folder("before"))) GTEST_SKIP() << folder("before") << " is not here";
  }
  static std::string folder(const std::string& when) {
    return HEADROOM_SHARED_DIR "/snapshots/strix-halo-" + when + "-ttm";
  }
};

TEST_F(StrixHalo, of_120_gib_the_pages_are_31457280) {
  const auto change = Machine(folder("before")).plan("ttm-cap", "120GiB");
  ASSERT_TRUE(change.has_value()) << change.error().message;
  EXPECT_EQ(value_of(*change, "ttm.pages_limit"), "31457280");
  EXPECT_EQ(value_of(*change, "ttm.page_pool_size"), "31457280");
  EXPECT_EQ(value_of(*change, "amdgpu.gttsize"), "-1");
  EXPECT_THAT(change->warnings.front(), HasSubstr("5.08 GiB of RAM are left"));
}

TEST_F(StrixHalo, what_is_predicted_is_what_came) {
  const auto change = Machine(folder("before")).plan("ttm-cap", "120GiB");
  ASSERT_TRUE(change.has_value()) << change.error().message;
  const Machine after(folder("after"));
  const auto comparison = compare(*change->forecast, after.facts);
  EXPECT_EQ(comparison.outcome, plan::Outcome::as_predicted);
  for (const plan::PredictedRung& rung : change->forecast->rungs) {
    const facts::Rung* real = after.facts.gpus[0].ladder.rung(rung.rung);
    ASSERT_TRUE(real != nullptr && real->limit) << rung.rung;
    EXPECT_EQ(*real->limit, rung.limit) << rung.rung;
    EXPECT_EQ(real->binding, rung.binding) << rung.rung;
  }
}

TEST_F(StrixHalo, without_the_reboot_nothing_is_as_predicted) {
  const Machine before(folder("before"));
  const auto change = before.plan("ttm-cap", "120GiB");
  ASSERT_TRUE(change.has_value());
  const auto comparison = compare(*change->forecast, before.facts);
  EXPECT_EQ(comparison.outcome, plan::Outcome::differs);
  EXPECT_THAT(comparison.reasons, ::testing::Contains(HasSubstr("amdgpu.gttsize=122880 is set")));
}

TEST_F(StrixHalo, afterwards_there_is_nothing_to_do) {
  const auto change = Machine(folder("after")).plan("ttm-cap", "120GiB");
  ASSERT_FALSE(change.has_value());
  EXPECT_THAT(change.error().message, HasSubstr("nothing to do"));
}

class Distribution : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { testing::make_distribution(GetParam(), root()); }
  std::string root() const { return scratch_.path().string(); }

 private:
  testing::Scratch scratch_;
};

TEST_P(Distribution, the_limit_can_be_planned_and_every_report_says_it) {
  const Machine machine(root());
  const auto change = machine.plan("ttm-cap", "");
  ASSERT_TRUE(change.has_value()) << change.error().message;
  const std::string pages = value_of(*change, "ttm.pages_limit");
  const std::string text = to_text(*change, machine.facts, report::Style{});
  EXPECT_THAT(text, HasSubstr(pages));
  EXPECT_THAT(text, HasSubstr("headroom fix ttm-cap --apply"));
  EXPECT_THAT(text, HasSubstr("BIOS carve-out"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const auto json = parse_json(report::to_json_text(*change, machine.facts));
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ((*json)["schema"], "headroom.fix/1");
  const auto again = plan::change_from_json(*json);
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(to_json(*again), to_json(*change));
}

// Runs a script on the scratch root with its own programs.
int run_script(const std::string& root, const std::string& script, const std::string& part) {
  const testing::Scratch folder;
  const std::string path = (folder.path() / "fix.sh").string();
  std::ofstream(path) << script;
  const std::string command = "ROOT=" + shell_quote(root) + " sh " + shell_quote(path) + " " +
                              part + " > " + shell_quote(path + ".out") + " 2>&1";
  const int status = std::system(command.c_str());  // NOLINT: a scratch root's own script.
  if (status != 0) std::cerr << *machine::read_file(path + ".out");
  return status;
}

TEST_P(Distribution, the_script_leaves_every_file_as_the_steps_say) {
  const auto change = Machine(root()).plan("ttm-cap", "");
  ASSERT_TRUE(change.has_value()) << change.error().message;
  ASSERT_EQ(run_script(root(), report::to_script(*change), ""), 0);
  std::map<std::string, std::optional<std::string>> wanted;
  for (const plan::Step& step : change->steps) {
    const auto* edit = std::get_if<plan::FileEdit>(&step.action);
    if (edit != nullptr && !edit->path.ends_with("headroom-confirm.service")) {
      wanted[edit->path] = edit->after;
    }
    for (const plan::Expectation& expected : step.expects) {
      const bool checked = expected.kind == plan::Expectation::Kind::file_contains &&
                           expected.path.find('*') == std::string::npos;
      if (!checked) continue;
      EXPECT_THAT(*machine::read_file(root() + expected.path), HasSubstr(expected.text));
    }
  }
  for (const auto& [path, text] : wanted) {
    const auto found = machine::read_file(root() + path);
    EXPECT_EQ(found.has_value(), text.has_value()) << path;
    if (found && text) {
      EXPECT_EQ(*found, *text) << path;
    }
  }
}

TEST_P(Distribution, the_script_stops_before_it_touches_a_file_that_changed) {
  const auto change = Machine(root()).plan("ttm-cap", "");
  ASSERT_TRUE(change.has_value()) << change.error().message;
  std::vector<std::string> paths;
  for (const plan::Step& step : change->steps) {
    const auto* edit = std::get_if<plan::FileEdit>(&step.action);
    if (edit != nullptr && edit->before) paths.push_back(edit->path);
  }
  if (paths.empty()) GTEST_SKIP() << "no file is edited here";
  const std::string theirs = *machine::read_file(root() + paths.back()) + "# Mine.\n";
  std::ofstream(root() + paths.back()) << theirs;
  const std::string first = *machine::read_file(root() + paths.front());
  ASSERT_NE(run_script(root(), report::to_script(*change), ""), 0);
  EXPECT_EQ(*machine::read_file(root() + paths.back()), theirs);
  EXPECT_EQ(*machine::read_file(root() + paths.front()), first);
}

INSTANTIATE_TEST_SUITE_P(, Distribution, ::testing::ValuesIn(testing::distribution_names()),
                         [](const auto& name) {
                           std::string id = name.param;
                           std::replace_if(
                               id.begin(), id.end(), [](char c) { return c == '-' || c == '.'; },
                               '_');
                           return id;
                         });

}  // namespace
}  // namespace headroom
