// SPDX-License-Identifier: Apache-2.0
// A command and every process that comes from it, whatever they do: fork, become daemons, change
// their session or their group, ignore SIGTERM. Where a control group can be had (version 2,
// delegated; version 1; a scope of systemd) the kernel keeps the list. In any case the command's
// parent is a forked keeper, the subreaper of all that comes from it (prctl(2)), so that no one
// escapes to init unseen.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "machine/tree/signals.h"

namespace headroom::machine {

struct TreeOptions {
  std::vector<std::string> argv;          // argv[0] is looked up in PATH of `environment`.
  std::vector<std::string> environment;   // NAME=VALUE.
  std::string folder;                     // Working directory; empty: ours.
  std::optional<Bytes> memory;            // Of the whole tree.
  int input = 0, output = 1, errors = 2;  // Its descriptors 0 to 2; they stay ours to close.
  // What is held back from us reaches the command as it was before; nothing: what Signals takes
  // reaches it. Used by start() alone.
  const Signals* signals = nullptr;
};

// One process of the tree.
struct TreeMember {
  std::uint64_t pid = 0;
  std::string command;  // comm or, where it can be read, the beginning of its command line.
};

// Each nothing where it cannot be measured.
struct TreeUse {
  std::optional<Bytes> rss;         // Of all processes added up.
  std::optional<Bytes> memory;      // What counts against the limit: the group's, else rss.
  std::optional<Bytes> group_peak;  // The highest that the kernel counted.
  std::uint64_t processor_ms = 0;   // Used by all processes, ended ones included.
  std::uint64_t kernel_kills = 0;   // Processes that the kernel ended in the group for memory.
  std::uint64_t processes = 0;
};

struct TreeExit {
  int code = 0;  // A shell's: 128 + signal where a signal ended it.
  std::optional<int> signal;
  bool dumped_core = false;
};

enum class LimitKind : std::uint8_t { none, cgroup_v2, cgroup_v1, systemd_scope, added_up };

// One thread at a time, and the one that started it lives as long as the tree: if it ends, so does
// the command, by SIGTERM. Several trees may be alive.
class ProcessTree {
 public:
  // Starts the command. Fails with not_found (no such program: a shell's 127) or no_permission,
  // invalid (it cannot be executed: 126), or where the system has no room for another process.
  static Result<std::unique_ptr<ProcessTree>> start(const TreeOptions& options);
  ProcessTree(const ProcessTree&) = delete;
  ProcessTree& operator=(const ProcessTree&) = delete;
  // Ends what is left with SIGKILL, and removes the control group.
  virtual ~ProcessTree() = default;

  virtual std::uint64_t pid() const = 0;
  // Becomes readable when the command's own process has ended (pidfd_open(2)), for poll(2).
  virtual int descriptor() const = 0;
  // How the command's own process ended; nothing while it runs. Reaps whatever else has ended.
  virtual std::optional<TreeExit> main_exit() = 0;
  // Those that live, the command's own process among them.
  virtual std::vector<TreeMember> members() = 0;
  virtual TreeUse use() = 0;
  // To the command's own process.
  virtual Status send(int signal) = 0;
  // To every process of the tree; SIGKILL repeats until none appears any more.
  virtual Status send_all(int signal) = 0;
  virtual LimitKind limit_kind() const = 0;
  // Why it is not a stronger one: "no control group could be made: …"; may be empty.
  virtual std::string limit_remark() const = 0;

 protected:
  ProcessTree() = default;
};

}  // namespace headroom::machine
