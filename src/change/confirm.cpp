// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "change/change_machine.h"
#include "change/transaction.h"

namespace headroom::change {
namespace {

using plan::State;

Result<plan::Record> read_awaiting(const Journal& journal, std::string_view id) {
  HEADROOM_TRY(auto record, journal.read(id));
  if (plan::can_be_confirmed(record.state)) return record;
  return Error{Errc::invalid,
               fmt::format("expected a change that awaits its reboot, found {} {}", record.id,
                           to_string(record.state)),
               "headroom history"};
}

}  // namespace

Result<plan::Record> confirm(const Doors& doors, Journal& journal, std::string_view id,
                             std::string_view said) {
  HEADROOM_TRY(const auto lock, journal.lock());
  HEADROOM_TRY(auto record, read_awaiting(journal, id));
  const StepRange rest{record.steps_done,
                       record.change.steps.size() + record.change.on_confirm.size()};
  if (auto ready = check_ready(doors, journal, record.change, rest, true); !ready) {
    Error error = std::move(ready).error();
    if (error.code == Errc::invalid) error.next = plan::undo_command(record);
    return error;
  }
  HEADROOM_CHECK(keep_originals(doors, journal, record, rest));
  record.said = said;
  record.state = State::confirming;
  HEADROOM_CHECK(journal.save(record));
  if (auto done = carry_out_all(doors, journal, record, rest); !done) {
    Error error = std::move(done).error();
    error.message += "; the changes so far are kept";
    error.next = fmt::format("{}   (continues; {} undoes it)", plan::confirm_command(record),
                             plan::undo_command(record));
    return error;
  }
  record.state = State::confirmed;
  record.ended = doors.now;
  HEADROOM_CHECK(journal.save(record));
  return record;
}

Result<plan::Record> mark_mismatched(const Doors& doors, Journal& journal, std::string_view id,
                                     std::string_view said) {
  HEADROOM_TRY(const auto lock, journal.lock());
  HEADROOM_TRY(auto record, read_awaiting(journal, id));
  record.state = State::mismatched;
  record.said = said;
  record.ended = doors.now;
  HEADROOM_CHECK(journal.save(record));
  return record;
}

}  // namespace headroom::change
