// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/wait.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "machine/clock.h"

namespace headroom::machine {
namespace {

constexpr std::uint64_t longest_wait_ms = 1'000'000'000;  // What poll(2) takes is an int.

// Until `deadline_ns`, in what poll(2) takes: -1 is for ever. Rounded up, so that the moment has
// come when it returns.
int wait_of(std::optional<std::uint64_t> deadline_ns) {
  if (!deadline_ns) return -1;
  const std::uint64_t now = monotonic_ns();
  if (now >= *deadline_ns) return 0;
  return static_cast<int>(std::min((*deadline_ns - now + 999'999) / 1'000'000, longest_wait_ms));
}

}  // namespace

std::vector<bool> wait_readable(std::span<const int> descriptors,
                                std::optional<std::uint64_t> timeout_ms) {
  std::vector<pollfd> watched;
  for (const int descriptor : descriptors) watched.push_back({descriptor, POLLIN, 0});
  std::optional<std::uint64_t> deadline_ns;
  if (timeout_ms) {
    deadline_ns = monotonic_ns() + std::min(*timeout_ms, longest_wait_ms) * 1'000'000;
  }
  std::vector<bool> ready(watched.size(), false);
  if (::poll(watched.data(), watched.size(), wait_of(deadline_ns)) <= 0) return ready;
  for (std::size_t i = 0; i < watched.size(); ++i) ready[i] = watched[i].revents != 0;
  return ready;
}

}  // namespace headroom::machine
