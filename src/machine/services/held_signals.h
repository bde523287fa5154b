// SPDX-License-Identifier: Apache-2.0
// Signals as questions instead of an end: for what must not be broken off in the middle.
#pragma once

#include <csignal>
#include <optional>
#include <string>

namespace headroom::machine {

// While one exists SIGINT and SIGTERM are held back and asked for, and SIGHUP and SIGPIPE are
// ignored: the terminal that it was started from may go. Programs that RunningProgram and Programs
// start get all of them as ever. One at a time, where there is one thread.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // "SIGINT": the next one that came; nothing if none did.
  std::optional<std::string> take() const;

 private:
  sigset_t held_{};
  sigset_t before_{};
  struct sigaction hangup_ {};
  struct sigaction pipe_ {};
};

// Milliseconds since 1970, of the time of day.
std::int64_t time_of_day_ms();

}  // namespace headroom::machine
