// SPDX-License-Identifier: Apache-2.0
// Signals as questions instead of an end: for what must not be broken off in the middle.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>

namespace headroom::machine {

// While one exists SIGINT and SIGTERM are held back and asked for, and SIGHUP and SIGPIPE end
// nothing: the terminal that it was started from may go. Programs that RunningProgram and Programs
// start get all of them as ever. One at a time, where there is one thread.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // "SIGINT": the next one that came; nothing if none did. When a login session ends, systemd sends
  // SIGTERM and SIGHUP to its processes (systemd.kill(5), SendSIGHUP=), and sudo passes them on: a
  // SIGTERM of our parent with a hang-up is nobody's wish, and is left out. For such a hang-up it
  // may wait a second.
  std::optional<std::string> take();

 private:
  bool is_hung_up();

  sigset_t held_{};
  sigset_t before_{};
  struct sigaction pipe_ {};
  pid_t parent_;
  bool hung_up_ = false;
};

// Milliseconds since 1970, of the time of day.
std::int64_t time_of_day_ms();

}  // namespace headroom::machine
