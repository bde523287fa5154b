// SPDX-License-Identifier: Apache-2.0
// The doors through which a command changes a machine, and the journals there: the system's, and
// the one of a user who changes only what is their own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "change/carry_out.h"
#include "change/journal.h"
#include "cli/commands.h"
#include "machine/programs.h"
#include "machine/writable_files.h"

namespace headroom::cli {

class ChangeSession {
 public:
  // Fails with not_this_system for a captured machine.
  static Result<std::unique_ptr<ChangeSession>> open(const std::string& root,
                                                     const Context& context);

  ChangeSession(const ChangeSession&) = delete;
  ChangeSession& operator=(const ChangeSession&) = delete;

  change::Doors doors();
  // For taking back a change that may have been interrupted in an earlier boot.
  change::Doors doors_for(const plan::Record& record);
  machine::WritableFiles& files() { return files_; }
  // The system's first. The user's own is there for an ordinary user of this system only.
  std::vector<change::Journal>& journals() { return journals_; }
  // Where a change belongs: the user's own if no step of it needs root and the user is not root.
  change::Journal& journal_for(const plan::Change& change);

  // The journal that knows the id; of an empty id the newest change that `wanted` likes. Fails with
  // not_found, and says what there is.
  struct Found {
    change::Journal* journal = nullptr;
    plan::Record record;
  };
  Result<Found> find(std::string_view id, bool (*wanted)(const plan::Record&),
                     std::string_view what);

 private:
  ChangeSession(machine::WritableFiles files, std::unique_ptr<machine::Programs> programs);

  machine::WritableFiles files_;
  std::unique_ptr<machine::Programs> programs_;
  std::string now_;
  std::vector<change::Journal> journals_;
};

}  // namespace headroom::cli
