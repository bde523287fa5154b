// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/shell_quote.h"
#include "base/text.h"
#include "change/change_machine.h"
#include "change/transaction.h"

namespace headroom::change {
namespace {

// A trial boot runs with settings that are not set for good, and two changes of what boots cannot
// both be compared with one reboot.
Status refuse_beside_others(const Journal& journal, const plan::Change& change) {
  HEADROOM_TRY(const auto listing, journal.read_all());
  for (const Error& error : listing.unreadable) return error;
  for (const plan::Record& record : listing.records) {
    if (change.needs_reboot && plan::awaits_reboot(record)) {
      return Error{Errc::busy,
                   fmt::format("expected no other change that waits for a reboot; {} is still to "
                               "be confirmed after its reboot",
                               record.id),
                   fmt::format("{}   (after the reboot), or {}", plan::confirm_command(record),
                               plan::undo_command(record))};
    }
    if (!plan::is_interrupted(record.state)) continue;
    return Error{
        Errc::busy,
        fmt::format("expected every earlier change to be finished; {} was interrupted", record.id),
        plan::undo_command(record)};
  }
  return Done{};
}

// A change whose record never reached the disk never began.
Error taken_back(const Doors& doors, Journal& journal, const plan::Record& record, Error error) {
  const auto known = record.id.empty() ? Result<plan::Record>(Error{Errc::not_found, "", ""})
                                       : journal.read(record.id);
  if (!known && known.error().code == Errc::not_found) {
    error.message += "; nothing was changed";
    return error;
  }
  const auto undone = undo(doors, journal, record.id, error.message);
  if (undone) {
    error.message += undone->left.empty() ? "; everything is as it was before"
                                          : "; all old files are as they were before. Look at the "
                                            "new ones, and remove them if they are of no use: " +
                                                join(undone->left, ", ");
    return error;
  }
  error.message += "; undoing it failed too: " + undone.error().message;
  error.next = plan::undo_command(record);
  return error;
}

// With the lock held.
Status carry_out(const Doors& doors, Journal& journal, plan::Record& record) {
  const StepRange now{0, record.change.steps.size()};
  HEADROOM_CHECK(refuse_beside_others(journal, record.change));
  HEADROOM_CHECK(check_ready(doors, journal, record.change, now, false));
  HEADROOM_TRY(record.id, journal.begin(doors.now, record.change.fix));
  HEADROOM_CHECK(keep_originals(doors, journal, record, now));
  HEADROOM_CHECK(journal.save(record));  // From here on it is under way.
  HEADROOM_CHECK(carry_out_all(doors, journal, record, now));
  record.state = record.change.needs_reboot ? plan::State::awaiting_reboot : plan::State::applied;
  record.ended = doors.now;
  return journal.save(record);
}

}  // namespace

Result<plan::Record> apply(const Doors& doors, Journal& journal, const plan::Change& change,
                           std::string_view boot_id) {
  plan::Record record;
  record.change = change;
  record.of_system = journal.is_system();
  record.made = doors.now;
  record.boot_id = boot_id;
  Status done = Done{};
  {
    const auto lock = journal.lock();
    done = lock ? carry_out(doors, journal, record) : Status(lock.error());
  }
  if (done) return record;
  Error error = taken_back(doors, journal, record, std::move(done).error());
  if (error.next.empty()) {
    error.next = fmt::format("{}{} --apply   (once that is fixed)",
                             journal.is_system() ? "sudo " : "", shell_line(change.words));
  }
  return error;
}

}  // namespace headroom::change
