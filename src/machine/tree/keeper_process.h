// SPDX-License-Identifier: Apache-2.0
// What runs in the forked processes: the keeper and the command before it begins. System calls
// alone, since they are copies of a process with threads.
#pragma once

#include <sys/types.h>

#include "machine/tree/launch.h"

namespace headroom::machine {

// What the keeper tells, once the command's process is there and once it has ended.
struct KeeperMessage {
  pid_t command = -1;  // -1: it could not be forked, and
  int number = 0;      // this is the errno.
  bool has_ended = false;
  int code = 0;  // si_code and si_status of waitid(2).
  int status = 0;
};

// Descriptors of the forked processes; each is one that an execve(2) closes.
struct KeeperEnds {
  int line = -1;      // To whom it keeps for, a socket.
  int gate = -1;      // The command reads a byte here before it begins;
  int our_gate = -1;  // our end of it, and
  int failures = -1;  // where it writes a LaunchFailure.
};

// Forks the command's process and keeps it until a byte comes on `line`. Where `line` is closed at
// the other end without one, it ends every process of the tree first.
[[noreturn]] void run_keeper(Launch& launch, const KeeperEnds& ends);

}  // namespace headroom::machine
