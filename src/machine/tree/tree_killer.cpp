// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/tree_killer.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <set>
#include <utility>

#include "machine/clock.h"
#include "machine/descriptor.h"
#include "machine/os_error.h"

namespace headroom::machine {
namespace {

constexpr std::uint64_t ns_of_a_ms = 1'000'000;
// The kernel takes its time to give back the memory of a large process.
constexpr std::uint64_t longest_end_ms = 2000;
// Whoever forks faster than it is found would go on for ever; the last word is the caller's.
constexpr std::uint64_t longest_hunt_ms = 10'000;

// By number and start: what makes a process itself.
using Known = std::set<std::pair<pid_t, std::uint64_t>>;

std::pair<pid_t, std::uint64_t> identity(const ProcessStat& process) {
  return {process.pid, process.start_ticks};
}

// Returns an errno, or 0.
int signal_one(const ProcessStat& process, int signal) {
  const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0U)));
  if (handle.get() < 0) {
    if (errno == ESRCH) return 0;
    // Without pidfds, before Linux 5.3, its number has to do.
    return ::kill(process.pid, signal) == 0 || errno == ESRCH ? 0 : errno;
  }
  const auto now = read_process(process.pid);
  if (!now || identity(*now) != identity(process)) return 0;
  const long failed = ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0U);
  return failed == 0 || errno == ESRCH ? 0 : errno;
}

// Stops whatever appears until nothing new does: then nobody is left who could fork, or start
// another one in place of one that ended.
Known stop_all(const std::function<std::vector<ProcessStat>()>& list, std::uint64_t deadline_ns) {
  Known stopped;
  for (bool is_new = true; is_new && monotonic_ns() < deadline_ns;) {
    is_new = false;
    for (const ProcessStat& process : list()) {
      if (!stopped.insert(identity(process)).second) continue;
      is_new = true;
      signal_one(process, SIGSTOP);
    }
  }
  return stopped;
}

bool has_new(const std::vector<ProcessStat>& processes, const Known& known) {
  return std::any_of(processes.begin(), processes.end(), [&](const ProcessStat& process) {
    return !known.contains(identity(process));
  });
}

}  // namespace

Status signal_all(const std::vector<ProcessStat>& processes, int signal) {
  Status status = Done{};
  for (const ProcessStat& process : processes) {
    const int number = signal_one(process, signal);
    if (number != 0 && status)
      status = os_error(
          number, fmt::format("sending a signal to process {} ({})", process.pid, process.name));
  }
  return status;
}

Status kill_all(ControlGroup* group, const std::function<std::vector<ProcessStat>()>& list) {
  if (group != nullptr) group->kill();
  const std::uint64_t begin_ns = monotonic_ns();
  const std::uint64_t hunt_ends_ns = begin_ns + longest_hunt_ms * ns_of_a_ms;
  Status status = Done{};
  Known killed;
  std::uint64_t last_new_ns = begin_ns;
  for (;;) {
    std::vector<ProcessStat> alive = list();
    const std::uint64_t now = monotonic_ns();
    if (alive.empty() || now > hunt_ends_ns) return status;
    if (has_new(alive, killed)) {
      last_new_ns = now;
      // The first time a group has ended them, and all that is needed is to wait.
      if (group == nullptr || !killed.empty()) stop_all(list, hunt_ends_ns);
      alive = list();
      status = signal_all(alive, SIGKILL);
      for (const ProcessStat& process : alive) killed.insert(identity(process));
    } else if (now - last_new_ns > longest_end_ms * ns_of_a_ms) {
      return status;
    }
    constexpr std::uint64_t pause_ms = 2;
    sleep_ms(pause_ms);
  }
}

}  // namespace headroom::machine
