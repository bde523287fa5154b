// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/gathering.h"

#include <sys/prctl.h>

#include <ctime>

#include "machine/clock.h"

namespace headroom::machine {
namespace {

constexpr std::size_t flood_bytes = std::size_t{256} << 10U;  // In a millisecond.
constexpr std::size_t little_bytes = std::size_t{32} << 10U;
// The pipe has room for what a gigabyte a second brings meanwhile, ten times over.
constexpr timespec moment{0, 20'000};

}  // namespace

Gathering::Gathering() {
  // The usual slack of 50 µs (prctl(2)) is more than the moment itself.
  constexpr unsigned long slack_ns = 1;
  ::prctl(PR_SET_TIMERSLACK, slack_ns, 0UL, 0UL, 0UL);
}

void Gathering::after(std::size_t count) {
  const std::uint64_t now_ms = machine::monotonic_ns() / 1'000'000;
  if (now_ms != window_ms_) {
    is_flood_ = in_window_ >= flood_bytes;
    in_window_ = 0;
    window_ms_ = now_ms;
  }
  in_window_ += count;
  if (is_flood_ && count < little_bytes) ::nanosleep(&moment, nullptr);
}

}  // namespace headroom::machine
