// SPDX-License-Identifier: Apache-2.0
// What the commands do with a change: apply it, undo it, confirm it after the reboot. Each takes
// the journal's lock, leaves the machine old or new, and the journal knowing which; an interruption
// in between is finished by undo (or, of confirm's own steps, by confirm).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "change/carry_out.h"
#include "change/journal.h"
#include "plan/record.h"

namespace headroom::change {

// Applies the change and returns its record. On an error everything is taken back, and the error
// says so; where taking back failed as well, it says how to go on. `boot_id` may be empty.
Result<plan::Record> apply(const Doors& doors, Journal& journal, const plan::Change& change,
                           std::string_view boot_id);

struct Undone {
  plan::Record record;
  std::size_t restored = 0;        // Files that were brought back.
  std::vector<std::string> notes;  // What was made anew instead of restored, and the like.
  // Files that were not there before and may be an interrupted command's half-done work, or
  // somebody else's: they stay, and the notes name them.
  std::vector<std::string> left;
};
// Takes a change back, finished or not. Refuses, with a diff, where somebody else has changed a
// file since, and where a later change that is in force touches the same files: nothing is touched
// then. With `why` the record says it.
Result<Undone> undo(const Doors& doors, Journal& journal, std::string_view id,
                    std::string_view why = "");

// The reboot brought what was predicted: does the steps of on_confirm, and the change is confirmed.
// May be called again after an interruption.
Result<plan::Record> confirm(const Doors& doors, Journal& journal, std::string_view id,
                             std::string_view said);
// The reboot brought something else, and the change stays.
Result<plan::Record> mark_mismatched(const Doors& doors, Journal& journal, std::string_view id,
                                     std::string_view said);

}  // namespace headroom::change
