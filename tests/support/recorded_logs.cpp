// SPDX-License-Identifier: Apache-2.0
#include "support/recorded_logs.h"

#include <algorithm>
#include <filesystem>

#include "findings/log_diagnosis.h"
#include "knowledge/gpu_tables.h"
#include "knowledge/signatures.h"
#include "logs/log_reader.h"
#include "machine/user_files.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

struct Tables {
  knowledge::GpuTables gpus = *knowledge::load_gpu_tables();
  knowledge::SignatureTable signatures = *knowledge::load_signatures();
  logs::Matcher matcher = *logs::Matcher::make(signatures);
};

const Tables& tables() {
  static const Tables loaded;
  return loaded;
}

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

}  // namespace

const std::vector<Recorded>& logs_there() {
  static const std::vector<Recorded> logs = find_logs();
  return logs;
}

std::string name_of(std::size_t log) {
  std::string name = logs_there()[log].name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

const logs::Matcher& all_signatures() {
  return tables().matcher;
}

std::string answer(std::string_view log, std::string_view facts, Reading reading) {
  logs::Observations observations;
  logs::LogReader reader(tables().matcher, observations, 0, "job.log");
  reader.feed(log);
  if (reading == Reading::as_written) reader.flush();
  reader.finish();
  const auto stated = facts::parse_stated(std::string(facts), "facts.json");
  const std::vector<std::string> names = {"job.log"};
  const findings::Scene scene = findings::make_scene(
      observations, stated ? *stated : facts::Stated{}, nullptr, tables().gpus);
  return findings::diagnose_logs({observations, scene, tables().gpus, names}).cause.id;
}

bool matches_signature(std::string_view line) {
  std::vector<int> places;
  logs::Matcher::Scratch scratch;
  tables().matcher.match(line, places, scratch);
  return !places.empty();
}

}  // namespace headroom::testing
