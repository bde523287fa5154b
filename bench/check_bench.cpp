// SPDX-License-Identifier: Apache-2.0
// How long a check takes, for every test machine, for the recorded ones if they are beside the
// repository, and live: in process (probe, diagnose, JSON; the tables loaded before), and as a
// whole process from start to end. In process the bars are 3 ms for one GPU and 15 ms for 8 GPUs
// with 64 KFD nodes; live 15 ms and 2 µs per descriptor looked at. Beside them ROCm's own tools, if
// installed and working here.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/document.h"
#include "findings/diagnosis.h"
#include "knowledge/gpu_tables.h"
#include "machine/files.h"
#include "machine/user_files.h"
#include "probe/probe.h"
#include "report/check_json.h"
#include "report/fact_list.h"
#include "support/fake_machine.h"
#include "support/scratch.h"

namespace {

namespace fs = std::filesystem;

// The exit status, or -1 where it did not run to its end.
int run_quietly(std::vector<std::string> words) {
  posix_spawn_file_actions_t to_nowhere;
  posix_spawn_file_actions_init(&to_nowhere);
  posix_spawn_file_actions_addopen(&to_nowhere, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&to_nowhere, 2, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  int status = 0;
  const int failed =
      posix_spawnp(&child, arguments[0], &to_nowhere, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&to_nowhere);
  const bool ended = failed == 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
  return ended ? WEXITSTATUS(status) : -1;
}

void add_program(const std::string& name, const std::vector<std::string>& words) {
  const auto run = [words](benchmark::State& state) {
    for ([[maybe_unused]] auto step : state) {
      const int status = run_quietly(words);
      if (status < 0 || status == 2) state.SkipWithError("it did not run");
    }
  };
  benchmark::RegisterBenchmark(name.c_str(), run)->UseRealTime()->Unit(benchmark::kMillisecond);
}

// What the program does between its start and its printing.
void check_in_process(benchmark::State& state, const std::string& root) {
  const auto tables = headroom::knowledge::load_gpu_tables();
  std::size_t facts_listed = 0;
  for ([[maybe_unused]] auto step : state) {
    const auto files = headroom::machine::Files::open(root);
    const auto facts = files ? headroom::probe::probe(*files, *tables)
                             : headroom::Result<headroom::facts::Facts>(files.error());
    if (!facts) {
      state.SkipWithError("it could not look");
      break;
    }
    const auto diagnosis = headroom::findings::diagnose({*facts, *tables});
    benchmark::DoNotOptimize(headroom::report::to_json_text(*facts, diagnosis));
    facts_listed = headroom::report::list_facts(*facts).size();
  }
  state.counters["facts"] = static_cast<double>(facts_listed);
}

void load_tables(benchmark::State& state) {
  for ([[maybe_unused]] auto step : state) {
    benchmark::DoNotOptimize(headroom::knowledge::load_gpu_tables());
  }
}

void add(const std::string& name, const std::string& root) {
  benchmark::RegisterBenchmark(("in_process/" + name).c_str(),
                               [root](benchmark::State& state) { check_in_process(state, root); })
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  add_program("whole_process/" + name, {HEADROOM_BINARY, "check", "--json", "--root", root});
}

}  // namespace

int main(int argc, char** argv) {
  const fs::path source = HEADROOM_SOURCE_DIR;
  const headroom::testing::Scratch scratch;
  for (const auto& entry : fs::directory_iterator(source / "tests/machines")) {
    if (entry.path().extension() != ".toml") continue;
    const fs::path root = scratch.path() / entry.path().stem();
    const auto text = headroom::machine::read_file(entry.path().string());
    const auto description = headroom::parse_toml(text ? *text : "not TOML");
    fs::create_directory(root);
    if (!description || !headroom::testing::expand_machine(*description, root.string())) return 1;
    add(root.filename().string(), root.string());
  }
  const fs::path recorded = source / "../shared/snapshots";
  if (fs::exists(recorded)) {
    for (const auto& entry : fs::directory_iterator(recorded)) {
      if (fs::exists(entry.path() / "sys"))
        add("recorded/" + entry.path().filename().string(), entry.path().string());
    }
  }
  add("live", "/");
  benchmark::RegisterBenchmark("load_tables", load_tables)->Unit(benchmark::kMillisecond);
  for (const char* tool : {"rocminfo", "rocm-smi"}) {
    if (run_quietly({tool}) == 0) add_program(std::string("whole_process/") + tool, {tool});
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
