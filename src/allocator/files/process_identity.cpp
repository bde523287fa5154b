// SPDX-License-Identifier: Apache-2.0
#include "allocator/files/process_identity.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "facts/process_stat.h"
#include "machine/user_files.h"

namespace headroom::allocator {

Result<ProcessIdentity> read_own_identity() {
  ProcessIdentity identity;
  identity.pid = static_cast<std::uint64_t>(::getpid());
  HEADROOM_TRY(const std::string text, machine::read_file("/proc/self/stat"));
  const auto own = facts::parse_process_stat(text);
  if (!own || own->pid != identity.pid)
    return Error{Errc::unsupported,
                 fmt::format("expected /proc/self/stat of process {}, found another's or none",
                             identity.pid),
                 "mount /proc of this PID namespace"};
  identity.start_ticks = own->start_ticks;
  identity.command = own->name;
  struct stat space = {};
  if (::stat("/proc/self/ns/pid", &space) == 0) identity.pid_namespace = space.st_ino;
  return identity;
}

std::optional<std::uint64_t> read_start_ticks(std::uint64_t pid) {
  const auto text = machine::read_file(fmt::format("/proc/{}/stat", pid));
  if (!text) return std::nullopt;
  const auto found = facts::parse_process_stat(*text);
  if (!found || found->pid != pid || found->ended()) return std::nullopt;
  return found->start_ticks;
}

}  // namespace headroom::allocator
