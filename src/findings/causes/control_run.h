// SPDX-License-Identifier: Apache-2.0
// Control runs: the same command, typed twice in one log with one setting in one run only. If both
// runs fail alike, the setting is not what is at fault; if one works, the setting is what matters.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// A command as it was typed behind a prompt, and what came of it.
struct TypedRun {
  std::string program;  // The words that are no settings: "python main.py".
  // Environment variables, flags and "sudo", with their values; "" where there is none.
  std::map<std::string, std::string, std::less<>> settings;
  const logs::Observation* command = nullptr;
  const logs::Observation* failure = nullptr;  // The first one that names a kind of failure.
  bool works = false;                          // Nothing failed, and there was progress.
};

// Splits the words of a command line, with or without its prompt, into program and settings.
// `exported` are settings of the shell at that point; "export" and "unset" change them.
TypedRun read_command(std::string_view typed,
                      std::map<std::string, std::string, std::less<>>& exported);

struct ControlRun {
  std::string setting;  // "HSA_OVERRIDE_GFX_VERSION", "sudo", "--no-half".
  TypedRun with, without;
  bool same_failure = false;  // Else exactly one of the two works.
};

// Returns the pairs of runs that differ in exactly one setting and whose outcomes tell something.
std::vector<ControlRun> find_control_runs(const logs::Observations& log);

// Lowers a cause that needs a setting, or its absence, if the same failure came in both runs, and
// raises it if the run without it worked. What speaks against it and what speaks for it name the
// two lines.
void weigh_control_runs(const std::vector<ControlRun>& runs, std::string_view cause,
                        Hypothesis& hypothesis);

}  // namespace headroom::findings
