// SPDX-License-Identifier: Apache-2.0
// Logs as people paste them have the answer of the log itself: each recorded log is folded at every
// width from 60 to 120, and dressed as terminals, mails, chats and pages do. A sample in
// `./dev test`, all of it with HEADROOM_TEST_ALL.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>

#include "findings/log_diagnosis.h"
#include "knowledge/gpu_tables.h"
#include "knowledge/signatures.h"
#include "logs/log_reader.h"
#include "machine/user_files.h"
#include "support/pasting.h"
#include "support/sampling.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using testing::Dress;
using testing::Folding;

struct Tables {
  knowledge::GpuTables gpus = *knowledge::load_gpu_tables();
  knowledge::SignatureTable signatures = *knowledge::load_signatures();
  logs::Matcher matcher = *logs::Matcher::make(signatures);
};

const Tables& tables() {
  static const Tables loaded;
  return loaded;
}

struct Recorded {
  std::string name, log, facts;
};

std::vector<Recorded> find_logs() {
  std::vector<Recorded> logs;
  for (const char* set : {"/cases", "/cases_round2"}) {
    const fs::path folder = HEADROOM_SHARED_DIR + std::string(set);
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      constexpr std::size_t most = std::size_t{1} << 20U;
      const auto log = machine::read_file((entry.path() / "log.txt").string(), most);
      const auto facts = machine::read_file((entry.path() / "facts.json").string(), most);
      if (log) logs.push_back({entry.path().filename().string(), *log, facts ? *facts : "{}"});
    }
  }
  std::sort(logs.begin(), logs.end(),
            [](const Recorded& a, const Recorded& b) { return a.name < b.name; });
  return logs;
}

std::string answer(std::string_view log, std::string_view facts) {
  logs::Observations observations;
  logs::LogReader reader(tables().matcher, observations, 0, "job.log");
  reader.feed(log);
  reader.finish();
  const auto stated = facts::parse_stated(std::string(facts), "facts.json");
  const std::vector<std::string> names = {"job.log"};
  const findings::Scene scene = findings::make_scene(
      observations, stated ? *stated : facts::Stated{}, nullptr, tables().gpus);
  return findings::diagnose_logs({observations, scene, tables().gpus, names}).cause.id;
}

// A way to paste: folded first and then dressed, each piece alike, or dressed and then folded.
struct Way {
  std::string name;
  std::string text;
};

// Calls `look` for each way to paste a log.
void for_each_way(const Recorded& log, std::size_t first, std::size_t step,
                  const std::function<void(const Way&)>& look) {
  std::size_t number = 0;
  const auto is_chosen = [&] { return number++ % step == first % step; };
  for (const Dress& dress : testing::dresses()) {
    if (is_chosen()) look({dress.name, put_on(log.log, dress)});
  }
  for (std::size_t width = 60; width <= 120; ++width) {
    for (const bool at_blanks : {false, true}) {
      for (const std::size_t indent : {0, 4}) {
        const Folding folding{width, at_blanks, indent};
        const std::string how = std::to_string(width) + (at_blanks ? " at blanks" : " hard") +
                                (indent > 0 ? ", indented" : "");
        if (is_chosen()) look({how, fold(log.log, folding)});
        for (const Dress& dress : testing::dresses()) {
          if (is_chosen())
            look({how + ", then " + dress.name, put_on(fold(log.log, folding), dress)});
          if (!dress.is_mark_of_lines) continue;
          if (is_chosen())
            look(
                {std::string(dress.name) + ", then " + how, fold(put_on(log.log, dress), folding)});
        }
      }
    }
  }
}

TEST(PastedLogs, have_the_answer_of_the_log_itself) {
  const std::vector<Recorded> logs = find_logs();
  if (logs.empty()) GTEST_SKIP() << "no recorded logs in " HEADROOM_SHARED_DIR "/cases";
  const char* only = std::getenv("HEADROOM_TEST_ONLY");
  const std::size_t step = testing::stride(211);
  std::size_t tried = 0, different = 0, number = 0;
  std::map<std::string, std::size_t> by_log;
  for (const Recorded& log : logs) {
    ++number;
    if (only != nullptr && log.name.find(only) == std::string::npos) continue;
    const std::string expected = answer(log.log, log.facts);
    for_each_way(log, number, step, [&](const Way& way) {
      ++tried;
      const std::string found = answer(way.text, log.facts);
      if (found == expected) return;
      ++different;
      ++by_log[log.name + " " + expected];
      std::cout << log.name << ": " << expected << " -> " << found << ": " << way.name << "\n";
    });
  }
  std::cout << tried << " ways, " << different << " with another answer\n";
  for (const auto& [name, count] : by_log) std::cout << count << " of " << name << "\n";
  EXPECT_LE(different * 200, tried);
}

}  // namespace
}  // namespace headroom
