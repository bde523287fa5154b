// SPDX-License-Identifier: Apache-2.0
#include "machine/interrupt.h"

#include <ctime>

namespace headroom::machine {
namespace {

sigset_t make_set() {
  sigset_t set{};
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

Interrupt::Interrupt() {
  const sigset_t set = make_set();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}

Interrupt::~Interrupt() {
  const sigset_t set = make_set();
  const timespec at_once{};
  sigtimedwait(&set, nullptr, &at_once);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool Interrupt::came() const {
  sigset_t pending{};
  return sigpending(&pending) == 0 && sigismember(&pending, SIGINT) == 1;
}

}  // namespace headroom::machine
