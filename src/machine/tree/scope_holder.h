// SPDX-License-Identifier: Apache-2.0
// A forked process of ours that does nothing but be in a scope. systemd removes a scope with its
// last process (systemd.scope(5)), and with it the kernel's counts: who asked a moment later would
// not learn that the kernel ended the command for its memory, nor its highest use.
#pragma once

#include <sys/types.h>

#include <utility>

#include "base/result.h"
#include "machine/descriptor.h"

namespace headroom::machine {

// One thread. The process ends with this object, or with us, whatever we die of.
class ScopeHolder {
 public:
  // Fails where the system has no room for another process.
  static Result<ScopeHolder> start();
  ScopeHolder(ScopeHolder&& other) noexcept;
  ScopeHolder& operator=(ScopeHolder&&) = delete;
  ~ScopeHolder();

  pid_t pid() const { return pid_; }

 private:
  ScopeHolder(Descriptor line, pid_t pid) : line_(std::move(line)), pid_(pid) {}

  Descriptor line_;  // Our end; the process ends when it is closed.
  pid_t pid_;        // -1: moved from.
};

}  // namespace headroom::machine
