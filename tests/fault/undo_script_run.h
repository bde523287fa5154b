// SPDX-License-Identifier: Apache-2.0
// Runs undo.sh of a change on a scratch root, as a rescue shell does.
#pragma once

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "base/shell_quote.h"
#include "support/scratch_root.h"

namespace headroom::change {

constexpr auto journal_folder = "/var/lib/headroom";

struct Ran {
  int status = -1;
  std::string said;
};

// `before` goes before the shell's name: "PATH=/some/where".
inline Ran run_script(const testing::ScratchRoot& root, const std::string& id,
                      const std::string& words = "", const std::string& shell = "sh") {
  const auto script = root.path(fmt::format("{}/changes/{}/undo.sh", journal_folder, id));
  const auto output = root.path(fmt::format("{}/output", journal_folder));
  const std::string command =
      fmt::format("{} {} {} {} > {} 2>&1", shell, shell_quote(script.string()), words,
                  shell_quote(root.string()), shell_quote(output.string()));
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread.
  const int status = std::system(command.c_str());
  std::ifstream file(output);
  std::ostringstream said;
  said << file.rdbuf();
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, said.str()};
}

}  // namespace headroom::change
