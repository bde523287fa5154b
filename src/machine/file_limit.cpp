// SPDX-License-Identifier: Apache-2.0
#include "machine/file_limit.h"

#include <csignal>

namespace headroom::machine {
namespace {

extern "C" void do_nothing(int /*signal*/) {}

}  // namespace

// A handler ends with exec; a signal that is ignored would stay so (execve(2)).
void outlive_file_limit() {
  struct sigaction before {};
  if (::sigaction(SIGXFSZ, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = do_nothing;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGXFSZ, &action, nullptr);
}

}  // namespace headroom::machine
