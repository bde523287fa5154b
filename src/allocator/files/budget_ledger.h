// SPDX-License-Identifier: Apache-2.0
// A budget that the processes on one card share through a file (ledger.h), by the rule of
// budget_rule.h. When a process has ended, however it ended, the next process that needs room
// removes its entry. A process is recognised by its number and start time. Numbers from another
// container mean nothing here; there an entry counts as live while the process holds a lock, which
// the kernel releases when the process and the children that it forked are gone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "allocator/budget.h"
#include "allocator/files/budget_rule.h"
#include "allocator/files/ledger.h"
#include "allocator/files/locked_file.h"
#include "allocator/files/process_identity.h"
#include "base/mutex.h"
#include "base/result.h"

namespace headroom::allocator {

struct LedgerOptions {
  std::uint64_t total_bytes = 0;  // What is shared; the same for every process.
  Share share;
};

// Any thread may call any function. A call costs about ten microseconds
// (bench/forensics_bench.cpp), so take many pages at once. In a forked child every call fails; the
// child has to join by itself.
class BudgetLedger final : public Budget {
 public:
  // `path` names one file for each device, such as /dev/shm/headroom-UID-0000:03:00.0, which is
  // created if there is none; its folder must exist. Fails if the share cannot be promised, if live
  // processes share another total, or if the file is no ledger.
  static Result<std::unique_ptr<BudgetLedger>> join(const std::string& path,
                                                    const LedgerOptions& options);
  // Gives everything back and removes the entry. The file stays.
  ~BudgetLedger() override;
  BudgetLedger(const BudgetLedger&) = delete;
  BudgetLedger& operator=(const BudgetLedger&) = delete;

  Status take(std::uint64_t bytes) override;
  Status give_back(std::uint64_t bytes) override;
  Result<BudgetState> state() override;

 private:
  BudgetLedger(LockedFile file, ProcessIdentity own)
      : file_(std::move(file)), own_(std::move(own)) {}
  Status enter(const LedgerOptions& options) HEADROOM_EXCLUDES(mutex_);
  Result<Ledger> open_ledger(const LockedFile::Lock& lock, std::uint64_t total_bytes);
  Result<Ledger> read_own(const LockedFile::Lock& lock) const HEADROOM_REQUIRES(mutex_);
  bool lives(const LedgerEntry& entry, std::size_t slot) const HEADROOM_REQUIRES(mutex_);
  Status drop_ended(const LockedFile::Lock& lock, Ledger& ledger) const HEADROOM_REQUIRES(mutex_);
  BudgetState state_of(const Ledger& ledger) const HEADROOM_REQUIRES(mutex_);

  // Of this process's threads. Those of others are kept out by LockedFile::Lock, without which
  // nothing of the file can be read or written.
  Mutex mutex_;
  LockedFile file_ HEADROOM_GUARDED_BY(mutex_);
  ProcessIdentity own_;
  std::size_t slot_ HEADROOM_GUARDED_BY(mutex_) = ledger_slots;  // None yet.
};

}  // namespace headroom::allocator
