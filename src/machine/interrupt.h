// SPDX-License-Identifier: Apache-2.0
// ^C as a question instead of an end: for what has something to say when it is broken off.
#pragma once

#include <csignal>

namespace headroom::machine {

// While one exists SIGINT is held back from us; programs that an InputStream starts get it as ever.
// One at a time, where there is one thread.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();  // A SIGINT that came is forgotten.
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool came() const;

 private:
  sigset_t before_{};
};

}  // namespace headroom::machine
