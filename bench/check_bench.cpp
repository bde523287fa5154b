// SPDX-License-Identifier: Apache-2.0
// Wall time of a whole `headroom check --root MACHINE --json` process, start to end, for every test
// machine and for the recorded ones if they are beside the repository. The bar is 20 ms.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "machine/user_files.h"
#include "support/fake_machine.h"
#include "support/scratch.h"

namespace {

namespace fs = std::filesystem;

void run_check(benchmark::State& state, const std::string& root) {
  posix_spawn_file_actions_t to_nowhere;
  posix_spawn_file_actions_init(&to_nowhere);
  posix_spawn_file_actions_addopen(&to_nowhere, 1, "/dev/null", O_WRONLY, 0);
  std::vector<std::string> words = {HEADROOM_BINARY, "check", "--json", "--root", root};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  for ([[maybe_unused]] auto step : state) {
    pid_t child = 0;
    int status = 0;
    const int failed =
        posix_spawn(&child, HEADROOM_BINARY, &to_nowhere, nullptr, arguments.data(), environ);
    if (failed != 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status) ||
        WEXITSTATUS(status) == 2) {
      state.SkipWithError("headroom check did not run");
      break;
    }
  }
  posix_spawn_file_actions_destroy(&to_nowhere);
}

void add(const std::string& name, const std::string& root) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [root](benchmark::State& state) { run_check(state, root); })
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
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
    add("check/" + root.filename().string(), root.string());
  }
  const fs::path recorded = source / "../shared/snapshots";
  if (fs::exists(recorded)) {
    for (const auto& entry : fs::directory_iterator(recorded)) {
      if (fs::exists(entry.path() / "sys"))
        add("recorded/" + entry.path().filename().string(), entry.path().string());
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
