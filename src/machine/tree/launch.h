// SPDX-License-Identifier: Apache-2.0
// A program on its way to be executed: all that needs memory is made ready before fork(2), so that
// the child, which is a copy of a process with threads, runs nothing but system calls.
#pragma once

#include <array>
#include <csignal>
#include <string>
#include <vector>

#include "base/error.h"

namespace headroom::machine {

// What a child writes in place of a program that runs.
struct LaunchFailure {
  enum Stage : int { streams, folder, program };
  int stage = program;
  int number = 0;  // An errno.
};

class Launch {
 public:
  // Looks argv[0] up in PATH of `environment`, as execvp(3) does. Requires: argv is not empty.
  Launch(const std::vector<std::string>& argv, const std::vector<std::string>& environment);

  std::string folder;                   // Working directory; empty: ours.
  std::array<int, 3> streams{0, 1, 2};  // Become 0 to 2; one that is not open is none there.
  sigset_t held_back{};                 // Signals that the program starts with.

  // In the child: becomes the program, or returns why not.
  LaunchFailure run();
  // What that means to a user: not_found, no_permission or invalid.
  Error explain(LaunchFailure failure) const;

 private:
  int execute();

  std::string name_;
  std::vector<std::string> texts_;  // Of argv and the environment; their addresses stay.
  std::vector<std::string> candidates_;
  std::vector<char*> argv_;
  std::vector<char*> shell_argv_;  // For a script that does not say what runs it.
  std::vector<char*> environment_;
};

}  // namespace headroom::machine
