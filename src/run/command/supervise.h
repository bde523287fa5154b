// SPDX-License-Identifier: Apache-2.0
// Runs a command under supervision: does what the supervisor's state machine says, and tells it
// what happens. Everything that touches the system is done by machine, machine/tree and probe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "facts/facts.h"
#include "knowledge/gpu_tables.h"
#include "machine/files.h"
#include "run/command/log_rules.h"
#include "supervisor/attempt.h"
#include "supervisor/policy.h"
#include "supervisor/settings.h"

namespace headroom::run {

struct SupervisedCommand {
  supervisor::Policy policy;
  supervisor::CommandTemplate command;
  std::string name;
  std::vector<std::string> environment;  // NAME=VALUE.
  // Words that stand before the command's own when it is started: what starts its ranks.
  std::vector<std::string> launcher = {};
};

// The machine that it runs on. All of it outlives the run.
struct SupervisedMachine {
  const machine::Files& files;
  const knowledge::GpuTables& tables;
  LogRules& rules;
  const facts::Facts* facts = nullptr;  // Before the start; nullptr if it could not be looked at.
  // Looks at the machine once more, after an attempt that failed.
  std::function<Result<facts::Facts>()> look_again;
};

// Who tells the user. Called from the thread of supervise(). `is_in_line`: the command has not
// ended the line that stands where we are about to write.
class Talk {
 public:
  Talk() = default;
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;
  virtual ~Talk() = default;

  // Once, when the first attempt runs. `limited_by` as in the report; empty: there is no limit.
  virtual void started(const std::string& limited_by) = 0;
  virtual void say(const std::string& text, const std::string& next, bool is_in_line) = 0;
};

struct SupervisedRun {
  supervisor::RunReport report;
  std::string no_group_peak;  // Why no attempt has a peak of its control group.
  std::string no_gpu_memory;  // Why none has one of its GPU memory.
  bool is_in_line = false;    // As in Talk.
};

// Blocks until the command and all that came from it have ended. Standard input, output and error
// are the command's. Takes the signals of this process meanwhile. Fails only where nothing was
// started because this process lacks what it needs (descriptors, signals).
Result<SupervisedRun> supervise(SupervisedCommand command, const SupervisedMachine& machine,
                                Talk& talk);

}  // namespace headroom::run
