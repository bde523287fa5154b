// SPDX-License-Identifier: Apache-2.0
// What a person typed behind a prompt and what came of it: the runs of a pasted shell session.
// Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "logs/observation.h"

namespace headroom::findings {

using ShellSettings = std::map<std::string, std::string, std::less<>>;

struct TypedRun {
  std::string program;  // The words that are no settings: "python main.py".
  // Environment variables, flags and "sudo", with their values; "" where there is none.
  ShellSettings settings;
  const logs::Observation* command = nullptr;
  const logs::Observation* failure = nullptr;  // The first one that names a kind of failure.
  bool works = false;                          // Nothing failed, and there was progress.
  // Nothing failed, and it printed something that does not read like trouble. Less than `works`:
  // it tells something only beside a run of the same program that failed.
  bool is_quiet = false;
};

// Splits the words of a command line, with or without its prompt, into program and settings. Of
// several commands in one line the last counts; `bash -c '…'` is what it runs. `exported` are
// settings of the shell at that point; "export" and "unset" change them.
TypedRun read_command(std::string_view typed, ShellSettings& exported);

// In the order of the logs. Empty for a long history, whose runs are too many to compare.
std::vector<TypedRun> find_typed_runs(const logs::Observations& log);

}  // namespace headroom::findings
