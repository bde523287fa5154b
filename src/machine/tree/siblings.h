// SPDX-License-Identifier: Apache-2.0
// Processes that are started together and belong together: the ranks of one job. They are children
// of this process and end with it, whatever ends it (PR_SET_PDEATHSIG, prctl(2)).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "machine/tree/process_tree.h"
#include "machine/tree/signals.h"

namespace headroom::machine {

struct SiblingCommand {
  std::vector<std::string> argv;         // argv[0] is looked up in PATH of `environment`.
  std::vector<std::string> environment;  // NAME=VALUE.
};

struct SiblingExit {
  std::size_t index = 0;  // Of its command.
  std::uint64_t pid = 0;
  TreeExit exit;
};

// One thread, which lives as long as they do.
class Siblings {
 public:
  // Starts all, with our standard streams and the signals as they were before `signals`. If one
  // cannot be started, those before it are ended; fails as ProcessTree::start does.
  static Result<Siblings> start(const std::vector<SiblingCommand>& commands,
                                const Signals& signals);
  Siblings(Siblings&&) = default;
  Siblings& operator=(Siblings&&) = delete;
  ~Siblings();  // Ends what is left, with SIGKILL.

  // Starts another one in the place of one that has ended; fails as start() does, and the place
  // stays empty then.
  Status start_again(std::size_t index, const SiblingCommand& command, const Signals& signals);

  // One that has ended and was not told yet. Never waits: SIGCHLD says when to ask.
  std::optional<SiblingExit> next_exit();
  std::size_t running() const { return pids_.size() - ended_; }
  void send_all(int signal);
  void send(std::size_t index, int signal);  // Nothing if it has ended.

 private:
  Siblings() = default;

  std::vector<pid_t> pids_;  // -1: it has ended.
  std::size_t ended_ = 0;
};

// From here on this process gets SIGTERM when the one that started it ends, however that ends.
void end_with_parent();

// Ends this process as `signal` ended another one, without a core dump of its own.
[[noreturn]] void end_by(int signal);

// Removes this user's files of /dev/shm whose names begin with `prefix` and have `part` in them:
// what processes that were killed have left there. What cannot be removed stays.
void remove_shared_memory(std::string_view prefix, std::string_view part);

// A TCP port of the loopback address that nobody listens on at this moment.
Result<int> free_loopback_port();

}  // namespace headroom::machine
