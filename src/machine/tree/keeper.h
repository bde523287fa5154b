// SPDX-License-Identifier: Apache-2.0
// The parent of a supervised command: a forked process of ours that does nothing but adopt and
// reap. Its descendants are the command's tree and nobody else's, whatever other programs this
// process has started, and no one of them escapes to init, since it is their subreaper (prctl(2)).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "machine/descriptor.h"
#include "machine/tree/launch.h"
#include "machine/tree/process_tree.h"

namespace headroom::machine {

// One thread. If this process is killed, the keeper ends the tree in its place: SIGTERM to the
// command, and SIGKILL to what is left ten seconds later, or a second after the command has ended.
// If both are killed, the kernel sends SIGTERM to the command (PR_SET_PDEATHSIG).
class Keeper {
 public:
  // Forks the keeper and the command's process, which waits for release(): there is time to put it
  // where it belongs. `launch` must outlive that.
  static Result<Keeper> start(Launch& launch);
  Keeper(Keeper&&) noexcept = default;
  Keeper& operator=(Keeper&&) = delete;
  // Lets go: what lives on becomes a child of init's. Requires, where that may not be, that nothing
  // does.
  ~Keeper();

  // Lets the command begin. Fails as Launch::explain says; then nothing runs.
  Status release();

  pid_t pid() const { return pid_; }
  pid_t command() const { return command_; }
  // Readable from the moment on that the command's end is known.
  int descriptor() const { return line_.get(); }
  // How the command ended; nothing while it runs.
  std::optional<TreeExit> command_exit() const;
  // To the command's own process and never to a later one of its number.
  Status send(int signal) const;

 private:
  explicit Keeper(Launch& launch) : launch_(&launch) {}
  Status fork_both();
  Status receive_command();

  Launch* launch_;
  Descriptor line_;      // From the keeper; it ends when our end is closed.
  Descriptor gate_;      // The command waits for a byte from it.
  Descriptor failures_;  // Why it could not be executed, or the end.
  Descriptor handle_;    // pidfd_open(2) of the command.
  pid_t pid_ = -1;
  pid_t command_ = -1;
};

}  // namespace headroom::machine
