// SPDX-License-Identifier: Apache-2.0
#include "averager/process_identity.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "facts/process_stat.h"
#include "machine/user_files.h"

namespace headroom::averager {
namespace {

std::optional<facts::ProcessStat> read_stat(std::uint64_t pid) {
  const auto text = machine::read_file(fmt::format("/proc/{}/stat", pid));
  return text ? facts::parse_process_stat(*text) : std::nullopt;
}

}  // namespace

ProcessIdentity own_identity() {
  const auto pid = static_cast<std::uint64_t>(::getpid());
  const auto stat = read_stat(pid);
  return {.pid = pid, .started = stat ? stat->start_ticks : 0};
}

bool is_running(const ProcessIdentity& process) {
  const auto stat = read_stat(process.pid);
  return stat && stat->start_ticks == process.started && !stat->ended();
}

std::uint64_t pid_namespace() {
  struct stat status = {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

}  // namespace headroom::averager
