// SPDX-License-Identifier: Apache-2.0
// A control group that holds one command's tree: the kernel knows every process of it, counts its
// memory and ends it as a whole (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "machine/tree/process_tree.h"

namespace headroom::machine {

// Each nothing where the kernel does not count it.
struct GroupUse {
  // Without the file cache, which the kernel gives back before it ends anybody.
  std::optional<Bytes> memory;
  std::optional<Bytes> peak;  // With it.
  std::uint64_t kernel_kills = 0;
};

// Removed from the system when it is destroyed, if no process is left in it. One thread.
class ControlGroup {
 public:
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;
  virtual ~ControlGroup() = default;

  // none: it holds processes together, and cannot limit their memory.
  virtual LimitKind kind() const = 0;
  virtual Status add(pid_t process) = 0;
  // Those of groups below it included.
  virtual std::vector<pid_t> processes() const = 0;
  // Sends SIGKILL to all of them at one moment, where the kernel can: nobody gets away by forking.
  virtual void kill() = 0;
  virtual GroupUse use() = 0;

 protected:
  ControlGroup() = default;
};

}  // namespace headroom::machine
