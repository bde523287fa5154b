// SPDX-License-Identifier: Apache-2.0
// The files of every machine in turn are deleted, emptied, cut in half, and filled with nonsense:
// check answers all the same, and no fact cites a file that is not there or says nothing. And every
// file in turn is gone, or cannot be read: no number of the answer silently becomes another one,
// and no GPU is called sound for want of the fact that says otherwise. Machines of tests/machines,
// and the recorded ones where they are kept beside the repository.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>

#include "base/document.h"
#include "findings/diagnosis.h"
#include "machine/files.h"
#include "machine/user_files.h"
#include "probe/probe.h"
#include "report/check_json.h"
#include "report/check_text.h"
#include "report/fact_list.h"
#include "support/sampling.h"
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

// The numbers of an answer about the machine and its GPUs, by a name that stays when others of a
// list are gone: "/gpus/0000:03:00.0/ladder/ttm/limit_bytes". Null stands for itself.
using Numbers = std::map<std::string, std::string>;

std::string name_in_list(const Json& item, std::size_t index) {
  for (const char* key : {"pci", "rung", "pid"}) {
    if (item.is_object() && item.contains(key)) {
      return item[key].is_string() ? item[key].get<std::string>() : item[key].dump();
    }
  }
  if (item.is_object() && item.contains("to")) {
    return item.value("from", "") + "-" + item.value("to", "");
  }
  return std::to_string(index);
}

void collect_numbers(const Json& value, const std::string& at, Numbers& numbers) {
  if (value.is_number() || value.is_null()) numbers[at] = value.dump();
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      collect_numbers(value[i], at + "/" + name_in_list(value[i], i), numbers);
    }
  } else if (value.is_object()) {
    for (const auto& [key, held] : value.items()) {
      // Text with figures in it; whatever they say comes from what is compared here.
      if (key != "suitability") collect_numbers(held, at + "/" + key, numbers);
    }
  }
}

Numbers numbers_of(const Json& answer) {
  Numbers numbers;
  for (const char* part : {"machine", "gpus", "links"}) {
    collect_numbers(answer[part], std::string("/") + part, numbers);
  }
  return numbers;
}

// What may say something else when a file is gone, because another source then speaks, or because
// the file's absence is an answer of its own. Each with its reason.
struct Exception {
  const char* file;    // Regular expressions, of the whole.
  const char* answer;  // A number's name, or "verdict".
};
constexpr Exception exceptions[] = {
    // Only root reads the driver's own figures; without them stands the formula that it follows.
    {"sys/kernel/debug/kfd/mem_limit", "verdict|.*/ladder/kfd-(system|ttm)/limit_bytes"},
    // Only AMD's package has the first, and drivers before 6.10 publish no firmware's version.
    {".*/used_memory|.*/fw_version/.*", "verdict"},
    // A process without such a file has not opened the GPU.
    {"sys/(devices/virtual|class)/kfd/kfd(/proc/.*)?|proc/[0-9]+/fdinfo/.*",
     ".*/(unattributed_bytes|accounting/.*|holders/.*)"},
    // No mark, no container: then its processes are not out of sight, and its masks are not asked.
    {"\\.dockerenv|run/\\.containerenv|run/systemd/container", ".*"},
    // Nothing is set, or nothing is installed.
    {"proc/[0-9]+/environ|etc/environment", "verdict|.*/(rocr|hip)_index"},
    {"opt/rocm/.*|.*/(site|dist)-packages/.*", "verdict"},
    // A GPU of which nothing says that it sleeps is awake.
    {".*/power_state|.*/power/runtime_status", ".*_bytes"},
};

bool is_expected(const std::string& file, const std::string& answer) {
  return std::any_of(std::begin(exceptions), std::end(exceptions), [&](const Exception& one) {
    return std::regex_match(file, std::regex(one.file)) &&
           std::regex_match(answer, std::regex(one.answer));
  });
}

bool is_sound(const Json& answer) {
  return answer["verdict"] == "ok" || answer["verdict"] == "no-gpu";
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
    take_sample();
  }

  // At most about forty files, other ones for each kind of damage, unless everything is wanted:
  // the machines with thousands have eight GPUs that are alike.
  void take_sample() {
    std::sort(files_.begin(), files_.end());
    const std::size_t stride = testing::stride((files_.size() + 15) / 16);
    if (stride < 2) return;
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::vector<fs::path> sample;
    const std::size_t first = static_cast<std::size_t>(test->line()) % stride;
    for (std::size_t i = first; i < files_.size(); i += stride) sample.push_back(files_[i]);
    files_ = std::move(sample);
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

  Json answer() const {
    const auto files = *machine::Files::open(root().string());
    const auto facts = *probe::probe(files, tables());
    return Json::parse(report::to_json_text(facts, findings::diagnose({facts, tables()})));
  }

  // `then` is the answer without that file.
  void expect_nothing_made_up(const fs::path& path, const Json& now, const Json& then) const {
    const std::string file = fs::relative(path, root()).string();
    if (!is_sound(now) && is_sound(then) && !is_expected(file, "verdict")) {
      ADD_FAILURE() << "without " << file << " the verdict " << now["verdict"] << " becomes "
                    << then["verdict"];
    }
    const Numbers before = numbers_of(now);
    for (const auto& [name, value] : numbers_of(then)) {
      const auto was = before.find(name);
      if (was == before.end() || value == "null" || value == was->second) continue;
      if (is_expected(file, name)) continue;
      ADD_FAILURE() << "without " << file << " " << name << " becomes " << value << ", was "
                    << was->second;
    }
  }

  // As a capture says of a file that reading it failed, which it then does not hold.
  void mark_unreadable(const fs::path& path) const {
    const fs::path manifest = root() / "MANIFEST.json";
    Json json = Json::object();
    if (fs::exists(manifest)) json = Json::parse(*machine::read_file(manifest.string()));
    Json errors = Json::object();
    if (json.contains("read_errors") && json["read_errors"].is_object())
      errors = json["read_errors"];
    errors[fs::relative(path, root()).string()] = "EIO";
    std::ofstream(manifest) << Json{{"read_errors", errors}}.dump();
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

TEST_P(Damage, what_is_gone_becomes_unknown_and_nothing_else) {
  const Json now = answer();
  const fs::path aside = root().string() + ".aside";
  for (const fs::path& path : files_) {
    fs::rename(path, aside);
    expect_nothing_made_up(path, now, answer());
    fs::rename(aside, path);
  }
}

TEST_P(Damage, what_cannot_be_read_becomes_unknown_and_nothing_else) {
  const Json now = answer();
  const fs::path aside = root().string() + ".aside";
  const fs::path manifest = root() / "MANIFEST.json";
  const bool has_manifest = fs::exists(manifest);
  const std::string kept = has_manifest ? *machine::read_file(manifest.string()) : "";
  for (const fs::path& path : files_) {
    if (path == manifest) continue;
    mark_unreadable(path);
    fs::rename(path, aside);
    expect_nothing_made_up(path, now, answer());
    fs::rename(aside, path);
    if (has_manifest) {
      std::ofstream(manifest) << kept;
    } else {
      fs::remove(manifest);
    }
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
