// SPDX-License-Identifier: Apache-2.0
// The record of one change in the journal: what was changed on this machine, and everything that is
// needed to take it back. The journal itself is in change/; one folder per change
// under /var/lib/headroom/changes:
//
//   20261121T223011Z-ttm-cap/
//     record.json      the record (schema headroom.record/1), replaced atomically, never edited
//     originals/0001   the bytes of a file before it was touched
//     undo.sh          restores by hand, for a rescue shell that has no headroom
//     preparing        there until the first record is on disk; before that nothing was touched
//
// Everything is on disk before the machine is touched (write-ahead), and state goes forward last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_entry.h"
#include "plan/change.h"

namespace headroom::plan {

enum class State {
  applying,         // Between old and new: undo brings the old back.
  applied,          // In force, no reboot needed; or a person still has to do something.
  awaiting_reboot,  // Done; confirm after the reboot.
  confirming,       // The steps of on_confirm are under way: confirm goes on, undo goes back.
  confirmed,        // The reboot brought what was predicted.
  mismatched,       // The reboot brought something else; nothing was undone.
  undoing,          // Between new and old: undo goes on.
  undone,           // The machine is as it was.
};

// What was at one path before the change, and what the change made of it. One per path, whichever
// steps touch it.
struct Touched {
  std::string path;                 // Links followed.
  std::size_t step = 0;             // The last that touches it; on_confirm counts on.
  bool generated = false;           // Made from other files by a command, and by nothing else.
  std::optional<FileEntry> before;  // nullopt: nothing was there.
  std::string before_checksum;      // SHA-256 of a file, hexadecimal.
  std::string original;             // "0001": its name in originals/; empty: no bytes.
  bool done = false;                // A step that touches it is done, and left what `after` says.
  std::optional<FileEntry> after;   // nullopt: nothing is there.
  std::string after_checksum;
};

struct Record {
  std::string id;     // "20261121T223011Z-ttm-cap".
  std::string made;   // "2026-11-21T22:30:11Z".
  std::string ended;  // When it reached the state it is in.
  State state = State::applying;
  // The state that undo found, once it has begun; nullopt also of records before this was kept.
  std::optional<State> undone_from;
  std::string said;  // Why it is in this state, where there is something to say.
  Change change;
  std::size_t steps_done = 0;  // Of change.steps, then of change.on_confirm.
  std::optional<std::size_t>
      running;  // The step whose command was under way when this was written.
  std::vector<Touched> touched;
  std::vector<std::string> folders_made;  // Outermost first.
  std::string boot_id;  // Of the boot that it was applied in; empty where unknown.
  // Kept in the system's journal, which root alone reads and writes; else in a user's own. Not
  // written down: where a record lies says it.
  bool of_system = true;
};

std::string_view to_string(State state);
// What to type to go back, and to have the reboot compared: with sudo where it takes root.
std::string undo_command(const Record& record);
std::string confirm_command(const Record& record);
// Undo would have something to do.
bool is_in_force(State state);
// After its reboot confirm has something to say of it.
bool can_be_confirmed(State state);
// It waits for a reboot, or its reboot brought something else: what boots is not known yet.
bool awaits_reboot(const Record& record);
// It never came into force: an error or an interruption ended its apply, and it was taken back.
bool never_in_force(const Record& record);
// The order in which changes were made, by their ids: the time, then the number of those of one
// second ("20261121T223011Z.2-ttm-cap", ".10" after it).
bool is_earlier_id(std::string_view id, std::string_view other);
// That number; 1 where the id has none.
std::uint64_t number_in_id(std::string_view id);
// A change was interrupted: nothing else may begin before it is undone.
bool is_interrupted(State state);

}  // namespace headroom::plan
