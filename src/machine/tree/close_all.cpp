// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/close_all.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace headroom::machine {
namespace {

void close_range_of(unsigned first, unsigned last) {
  if (first > last || ::syscall(SYS_close_range, first, last, 0U) == 0) return;
  constexpr unsigned highest = 65536;  // Before Linux 5.9; nobody here opens as many.
  for (unsigned fd = first; fd <= last && fd < highest; ++fd) ::close(static_cast<int>(fd));
}

}  // namespace

void close_all_but(int kept) {
  const auto number = static_cast<unsigned>(kept);
  if (number > 0) close_range_of(0, number - 1);
  close_range_of(number + 1, ~0U);
}

}  // namespace headroom::machine
