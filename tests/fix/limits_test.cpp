// SPDX-License-Identifier: Apache-2.0
// The memory limits of APUs, planned on whole machines: the recorded Strix Halo before and after
// its limit was raised, where it is kept beside the repository, and every distribution's scratch
// root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/document.h"
#include "base/shell_quote.h"
#include "base/text.h"
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
#include "report/check_text.h"
#include "support/distribution.h"
#include "support/scratch.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using namespace literals;
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
  EXPECT_THAT(change->warnings.front(), HasSubstr("The system has 5.08 GiB of RAM left"));
}

TEST_F(StrixHalo, without_the_carve_out_it_is_refused_and_says_what_is_missing) {
  Machine machine(folder("before"));
  machine.facts.gpus.front().vram_total = {facts::Missing{facts::Why::not_present, ""}, {}};
  for (const char* size : {"", "64GiB", "max"}) {
    const auto change = machine.plan("ttm-cap", size);
    ASSERT_FALSE(change.has_value()) << size;
    EXPECT_THAT(change.error().message, HasSubstr("mem_info_vram_total"));
  }
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

// What somebody copies stays on one line: commands, lines of files, and single words.
bool may_be_long(std::string_view line) {
  line = trim(line);
  const std::size_t number = line.find_first_not_of("0123456789");  // Of a step.
  if (number > 0 && line.substr(std::min(number, line.size())).starts_with(". ")) {
    line = trim(line.substr(number + 2));
  }
  if (line.find(' ') == std::string_view::npos) return true;
  for (const char* start : {"$ ", "+", "-", "@@", "sudo ", "headroom ", "echo ", "printf ",
                            "python3 -c ", "boot.kernelParams", "on that machine: sudo "}) {
    if (line.starts_with(start)) return true;
  }
  // Files that are shown in a diff keep their lines.
  for (const char* start : {"GRUB_", "options ", "title ", "linux ", "initrd ", "\"", "#"}) {
    if (line.starts_with(start)) return true;
  }
  return false;
}

void expect_to_fit(const std::string& text, std::size_t width) {
  for (const std::string_view line : split_lines(text)) {
    if (report::display_width(line) <= width || may_be_long(line)) continue;
    ADD_FAILURE() << "at " << width << ": " << line;
  }
}

TEST_P(Distribution, no_line_of_a_plan_is_longer_than_the_terminal) {
  const Machine machine(root());
  const auto change = machine.plan("ttm-cap", "");
  ASSERT_TRUE(change.has_value()) << change.error().message;
  for (const std::size_t width : {20, 40, 80, 100, 200}) {
    expect_to_fit(to_text(*change, machine.facts, report::Style{false, width}), width);
    expect_to_fit(report::to_text(machine.facts, machine.diagnosis, report::Detail::verbose,
                                  report::Style{false, width}),
                  width);
  }
}

// The list says of a fix what its plan comes to.
TEST_P(Distribution, what_is_listed_as_not_needed_plans_nothing) {
  const Machine machine(root());
  for (const plan::Fix* fix : plan::fixes()) {
    plan::FixOptions options;
    options.program = "/usr/bin/headroom";
    const plan::FixSubject subject{machine.facts, machine.diagnosis, tables(),
                                   machine.boot,  machine.settings,  options};
    const auto standing = plan::outlook_of(*fix, subject).standing;
    const bool plans =
        standing != plan::Standing::not_needed && standing != plan::Standing::not_possible;
    EXPECT_EQ(fix->plan(subject).has_value(), plans) << fix->id;
    EXPECT_EQ(fix->applies(subject), standing == plan::Standing::needed) << fix->id;
  }
}

// On this boot's command line, as before the reboot that an undo waits for.
void boot_with(Machine& machine, const std::string& words, Bytes pool) {
  const facts::Source source{"/proc/cmdline", 1, words};
  for (facts::ModuleOption& option : facts::parse_cmdline({words, source})) {
    machine.facts.machine.options.push_back(std::move(option));
  }
  machine.facts.gpus[0].pool = {pool, source};
}

TEST_P(Distribution, after_undo_and_before_the_reboot_the_limit_can_be_set_again) {
  Machine machine(root());
  const auto first = machine.plan("ttm-cap", "110GiB");
  ASSERT_TRUE(first.has_value()) << first.error().message;
  boot_with(machine, "ttm.pages_limit=28835840 ttm.page_pool_size=28835840", 110_GiB);
  const auto again = machine.plan("ttm-cap", "110GiB");
  if (GetParam() == "steamos") GTEST_SKIP() << "what writes its command line is not known";
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->steps.size(), first->steps.size());
}

TEST(BeforeTheReboot, what_is_set_for_every_boot_only_needs_the_reboot) {
  const testing::Scratch scratch;
  testing::make_distribution("debian-13", scratch.path().string());
  Machine machine(scratch.path().string());
  const std::string words = "quiet ttm.pages_limit=28835840 ttm.page_pool_size=28835840";
  for (facts::ConfigFile& file : machine.boot.files) {
    for (auto at = file.text.find("quiet"); at != std::string::npos;
         at = file.text.find("quiet", at + words.size())) {
      file.text.replace(at, 5, words);
    }
  }
  const auto change = machine.plan("ttm-cap", "110GiB");
  ASSERT_FALSE(change.has_value());
  EXPECT_THAT(change.error().message, HasSubstr("nothing to do but reboot"));
  EXPECT_THAT(change.error().next, HasSubstr("sudo reboot"));
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
