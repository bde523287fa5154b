// SPDX-License-Identifier: Apache-2.0
// A program of the user's that is waited for a little at a time, so that something else can be
// looked at meanwhile. It has a session of its own: no terminal can end it, and nothing on its
// standard input.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/descriptor.h"
#include "machine/services/load.h"

namespace headroom::machine {

// The programs that are waited for here, by their numbers: whoever adopts orphans leaves them
// alone.
struct OwnCommands {
  std::set<std::uint64_t> pids;
};

struct ProgramCall {
  std::vector<std::string> argv;         // argv[0]: a path from `folder`, or a name of PATH.
  std::string folder;                    // Where it runs; absolute.
  std::vector<std::string> environment;  // NAME=VALUE, all of it.
  // Where both of its streams go, appended; empty: they are kept here. What it leaves running may
  // write on after us.
  std::string output_file;
  std::shared_ptr<OwnCommands> own;  // It is entered there while it runs; may be null.
  // Of what is kept here, the end rather than the beginning where it is longer than `longest_body`.
  bool keeps_end = false;
};

// One thread.
class RunningProgram {
 public:
  // Fails with not_found or no_permission where it cannot be started.
  static Result<std::unique_ptr<RunningProgram>> start(const ProgramCall& call);
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;
  ~RunningProgram();  // Ends it and its process group, if it still runs.

  pid_t pid() const { return pid_; }
  // Waits at most so long; whether it has ended. What it left in the background is not waited for.
  bool wait(std::uint64_t timeout_ms);
  bool has_ended() const { return has_ended_; }
  // Once it has: its exit status, or 128 + the number of the signal that ended it.
  int status() const { return status_; }
  // What it wrote to its standard output, at most `longest_body`; and the end of its errors.
  std::string& output() { return output_; }
  const std::string& errors() const { return errors_; }
  // How much it wrote to its standard output, kept or not.
  std::uint64_t written() const { return written_; }

 private:
  RunningProgram(pid_t pid, Descriptor output, Descriptor errors, const ProgramCall& call);
  void drain();
  bool reap();
  void leave();

  pid_t pid_;
  std::shared_ptr<OwnCommands> own_;
  Descriptor ends_, output_end_, errors_end_;
  std::string output_, errors_;
  bool keeps_end_;
  std::uint64_t written_ = 0;
  bool has_ended_ = false;
  int status_ = 0;
};

// Runs it to its end, at most so long: then it is ended, and the error says so.
struct CallResult {
  int status = 0;
  std::string output, errors;
  std::uint64_t written = 0;  // To its standard output, kept or not.
};
Result<CallResult> call_program(const ProgramCall& call, std::uint64_t timeout_ms);

// The command as often as `shape` says. One that cannot be started is an answer too.
std::unique_ptr<Load> start_commands(const ProgramCall& call, const LoadShape& shape);

}  // namespace headroom::machine
