// SPDX-License-Identifier: Apache-2.0
// The signals that reach us while a command runs, as values to be read instead of things that
// happen (signalfd(2)): the one who supervises decides which of them the command gets as well.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "machine/descriptor.h"

namespace headroom::machine {

struct ArrivedSignal {
  int number = 0;
  // The terminal sent it (^C, ^\, a new window size, a line that broke) to the whole group in its
  // foreground, so the command has got it too, unless it left that group.
  bool from_terminal = false;
  std::uint64_t sender = 0;  // The process that sent it; 0 if none did.
};

// While one exists, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT and
// SIGCHLD are held back from this process and read from here. Those that were ignored before, as
// SIGHUP is under nohup(1), stay ignored. SIGTSTP stops us as ever, and with us the command. Take
// them before other threads are started: the threads inherit what is held back. One at a time.
class Signals {
 public:
  static Result<Signals> take();
  // Those of the list above.
  static std::span<const int> watched();
  Signals(Signals&& other) noexcept;
  Signals& operator=(Signals&&) = delete;
  ~Signals();  // What has come and was not read is forgotten.

  // Becomes readable when one has come.
  int descriptor() const { return descriptor_.get(); }
  // The next one that has come; nothing when there is none. Several of one kind may be one.
  std::optional<ArrivedSignal> next();
  // What was held back before us: a program that is started gets this.
  const sigset_t& before() const { return before_; }

 private:
  Signals() = default;

  Descriptor descriptor_;
  sigset_t taken_{};
  sigset_t before_{};
  bool is_active_ = false;
};

}  // namespace headroom::machine
