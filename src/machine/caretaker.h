// SPDX-License-Identifier: Apache-2.0
// Takes something provisional away when its owner is done with it or dies, whatever it dies of. A
// destructor does not run on a signal or an abort, and a signal handler not on kill -9: so a forked
// child waits for the owner's end of a socket to be closed, which the kernel does in any case.
#pragma once

#include <sys/types.h>

#include <string>

#include "machine/descriptor.h"

namespace headroom::machine {

// One thread. The child is in a session of its own, so that ^C does not reach it, lets every signal
// but SIGKILL pass, holds nothing of its owner's open, and runs nothing but system calls.
class Caretaker {
 public:
  // For what will have the name `name` in the open folder: a name that nobody else takes. Nothing
  // needs to be there yet. If `stale` is not empty, the child first sweeps the folder of what
  // begins with it (sweep.h). Where no process can be started, the owner's destructor does what it
  // can.
  Caretaker(int folder, std::string name, const std::string& stale);
  // What has the name by now is gone when this returns.
  ~Caretaker();
  Caretaker(const Caretaker&) = delete;
  Caretaker& operator=(const Caretaker&) = delete;

 private:
  bool child_removed();

  int folder_;
  std::string name_;
  Descriptor line_;   // To the child: the owner's end.
  pid_t child_ = -1;  // None.
};

}  // namespace headroom::machine
