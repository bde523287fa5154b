// SPDX-License-Identifier: Apache-2.0
#include "allocator/files/budget_ledger.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"

namespace headroom::allocator {
namespace {

std::string size(std::uint64_t bytes) {
  return to_string(Bytes{bytes});
}

Status write_slot(const LockedFile::Lock& lock, std::size_t slot, const LedgerSlot& content) {
  return lock.write(ledger_offset(slot), {content.data(), content.size()});
}

std::size_t claim_number(const LedgerClaims& claims, std::size_t slot) {
  const auto found = std::find(claims.slots.begin(), claims.slots.end(), slot);
  return static_cast<std::size_t>(found - claims.slots.begin());
}

Status check_options(const LedgerOptions& options) {
  const Share& share = options.share;
  const bool weight = share.kind == ShareKind::weight;
  if (weight && (share.amount == 0 || share.amount > max_share_weight))
    return Error{
        Errc::invalid,
        fmt::format("expected a weight from 1 to {}, found {}", max_share_weight, share.amount),
        "1 is a share like everybody's"};
  if (options.total_bytes == 0 || options.total_bytes > std::uint64_t{1} << 56U)
    return Error{Errc::invalid,
                 fmt::format("expected the device's memory as the total to share, found {}",
                             size(options.total_bytes)),
                 "headroom check shows what the device has"};
  return Done{};
}

}  // namespace

Result<std::unique_ptr<BudgetLedger>> BudgetLedger::join(const std::string& path,
                                                         const LedgerOptions& options) {
  HEADROOM_CHECK(check_options(options));
  HEADROOM_TRY(LockedFile file, LockedFile::open(path));
  HEADROOM_TRY(ProcessIdentity own, read_own_identity());
  std::unique_ptr<BudgetLedger> ledger(new BudgetLedger(std::move(file), std::move(own)));
  if (auto entered = ledger->enter(options); !entered)
    return std::move(entered).error().in(fmt::format("joining the budget in {}", path));
  return ledger;
}

Status BudgetLedger::enter(const LedgerOptions& options) {
  const MutexLock own_threads(mutex_);
  HEADROOM_TRY(const LockedFile::Lock lock, file_.lock());
  HEADROOM_TRY(Ledger ledger, open_ledger(lock, options.total_bytes));
  HEADROOM_CHECK(drop_ended(lock, ledger));
  const bool empty = claims_of(ledger).claims.empty();
  if (ledger.total_bytes != options.total_bytes) {
    if (!empty)
      return Error{Errc::invalid,
                   fmt::format("expected {} to share, as this process was told; found {} shared "
                               "by others",
                               size(options.total_bytes), size(ledger.total_bytes)),
                   "give every process of this device the same total"};
    const LedgerSlot header = header_slot(options.total_bytes);
    HEADROOM_CHECK(lock.write(0, {header.data(), header.size()}));
    ledger.total_bytes = options.total_bytes;
  }
  const std::uint64_t most = promisable(ledger.total_bytes, claims_of(ledger).claims);
  if (options.share.kind == ShareKind::fixed_bytes && options.share.amount > most)
    return over_budget(options.share.amount, state_of(ledger));
  for (std::size_t slot = 0; slot < ledger_slots; ++slot) {
    if (ledger.entries.at(slot)) continue;
    // The mark is set first, because a slot without one may be taken for an ended process's.
    // Children of an ended process may still hold the slot's mark.
    if (!file_.mark(slot)) continue;
    HEADROOM_CHECK(write_slot(lock, slot,
                              entry_slot({.pid = own_.pid,
                                          .start_ticks = own_.start_ticks,
                                          .pid_namespace = own_.pid_namespace,
                                          .share = options.share,
                                          .held_bytes = 0,
                                          .command = own_.command})));
    slot_ = slot;
    return Done{};
  }
  return Error{Errc::busy, fmt::format("expected a free slot, found {} processes", ledger_slots),
               "end a job that uses this device"};
}

BudgetLedger::~BudgetLedger() {
  const MutexLock own_threads(mutex_);
  if (slot_ == ledger_slots) return;
  // If this fails, others remove the entry when this process has ended.
  const auto lock = file_.lock();
  if (lock && read_own(*lock)) static_cast<void>(write_slot(*lock, slot_, {}));
}

// Makes a new file a ledger. The header is written last; until then the file counts as blank.
Result<Ledger> BudgetLedger::open_ledger(const LockedFile::Lock& lock, std::uint64_t total_bytes) {
  HEADROOM_TRY(const std::string bytes, lock.read(ledger_bytes + 1));
  if (!is_blank_ledger(bytes)) return parse_ledger(bytes);
  HEADROOM_CHECK(lock.resize(0));
  HEADROOM_CHECK(lock.resize(ledger_bytes));
  const LedgerSlot header = header_slot(total_bytes);
  HEADROOM_CHECK(lock.write(0, {header.data(), header.size()}));
  Ledger ledger;
  ledger.total_bytes = total_bytes;
  return ledger;
}

Result<Ledger> BudgetLedger::read_own(const LockedFile::Lock& lock) const {
  if (static_cast<std::uint64_t>(::getpid()) != own_.pid)
    return Error{Errc::unsupported,
                 fmt::format("expected process {}, which joined the budget, found its forked child",
                             own_.pid),
                 "let the child join for itself"};
  HEADROOM_TRY(const std::string bytes, lock.read(ledger_bytes + 1));
  HEADROOM_TRY(Ledger ledger, parse_ledger(bytes));
  const auto& entry = ledger.entries.at(slot_);
  if (!entry || entry->pid != own_.pid || entry->start_ticks != own_.start_ticks ||
      entry->pid_namespace != own_.pid_namespace)
    return Error{Errc::invalid,
                 fmt::format("expected this process's entry in slot {} of the shared budget, found "
                             "{}",
                             slot_, entry ? "another's" : "none"),
                 "somebody replaced the ledger: end the jobs on this device and start again"};
  return ledger;
}

bool BudgetLedger::lives(const LedgerEntry& entry, std::size_t slot) const {
  if (entry.pid_namespace == own_.pid_namespace)
    return read_start_ticks(entry.pid) == entry.start_ticks;
  const auto marked = file_.has_mark(slot);
  return !marked || *marked;  // In doubt the process counts as live.
}

Status BudgetLedger::drop_ended(const LockedFile::Lock& lock, Ledger& ledger) const {
  for (std::size_t slot = 0; slot < ledger_slots; ++slot) {
    auto& entry = ledger.entries.at(slot);
    if (!entry || lives(*entry, slot)) continue;
    HEADROOM_CHECK(write_slot(lock, slot, {}));
    entry.reset();
  }
  return Done{};
}

BudgetState BudgetLedger::state_of(const Ledger& ledger) const {
  BudgetState state;
  state.total_bytes = ledger.total_bytes;
  const LedgerClaims claims = claims_of(ledger);
  const std::vector<std::uint64_t> own = own_shares(ledger.total_bytes, claims.claims);
  for (std::size_t i = 0; i < own.size(); ++i) {
    const LedgerEntry& entry = *ledger.entries.at(claims.slots[i]);
    const bool self = claims.slots[i] == slot_;
    state.members.push_back({entry.pid, entry.command, entry.held_bytes, own[i], self});
    if (self) state.available_bytes = grantable(ledger.total_bytes, claims.claims, i);
  }
  if (slot_ == ledger_slots) state.available_bytes = promisable(ledger.total_bytes, claims.claims);
  return state;
}

Status BudgetLedger::take(std::uint64_t bytes) {
  const MutexLock own_threads(mutex_);
  HEADROOM_TRY(const LockedFile::Lock lock, file_.lock());
  HEADROOM_TRY(Ledger ledger, read_own(lock));
  const auto left = [&]() HEADROOM_REQUIRES(mutex_) {
    const LedgerClaims claims = claims_of(ledger);
    return grantable(ledger.total_bytes, claims.claims, claim_number(claims, slot_));
  };
  if (bytes > left()) {
    // Looking at every process takes longer than all the rest, so it is done only now.
    HEADROOM_CHECK(drop_ended(lock, ledger));
    if (bytes > left()) return over_budget(bytes, state_of(ledger));
  }
  LedgerEntry& own = *ledger.entries.at(slot_);
  own.held_bytes += bytes;
  return write_slot(lock, slot_, entry_slot(own));
}

Status BudgetLedger::give_back(std::uint64_t bytes) {
  const MutexLock own_threads(mutex_);
  HEADROOM_TRY(const LockedFile::Lock lock, file_.lock());
  HEADROOM_TRY(Ledger ledger, read_own(lock));
  LedgerEntry& own = *ledger.entries.at(slot_);
  if (bytes > own.held_bytes)
    return Error{Errc::invalid,
                 fmt::format("expected at most {} to be given back to the budget, found {}",
                             size(own.held_bytes), size(bytes)),
                 ""};
  own.held_bytes -= bytes;
  return write_slot(lock, slot_, entry_slot(own));
}

Result<BudgetState> BudgetLedger::state() {
  const MutexLock own_threads(mutex_);
  HEADROOM_TRY(const LockedFile::Lock lock, file_.lock());
  HEADROOM_TRY(Ledger ledger, read_own(lock));
  HEADROOM_CHECK(drop_ended(lock, ledger));
  return state_of(ledger);
}

}  // namespace headroom::allocator
