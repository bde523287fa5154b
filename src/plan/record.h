// SPDX-License-Identifier: Apache-2.0
// The record of one change in the journal: what was changed on this machine, and everything that is
// needed to take it back. The journal itself is in change/; one folder per change
// under /var/lib/headroom/changes:
//
//   20261121T223011Z-ttm-cap/
//     record.json      the record (schema headroom.record/1), replaced atomically, never edited
//     originals/0001   the bytes of a file before it was touched
//     undo.sh          restores by hand, for a rescue shell that has no headroom
//
// Everything is on disk before the machine is touched (write-ahead), and state goes forward last.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/file_entry.h"
#include "plan/change.h"

namespace headroom::plan {

enum class State {
  preparing,        // Originals are being saved; the machine is as it was.
  applying,         // Between old and new: undo brings the old back.
  applied,          // In force, no reboot needed; or a person still has to do something.
  awaiting_reboot,  // Done; confirm after the reboot.
  confirming,       // The steps of on_confirm are under way.
  confirmed,        // The reboot brought what was predicted.
  mismatched,       // The reboot brought something else; nothing was undone.
  undoing,          // Between new and old: undo goes on.
  undone,           // The machine is as it was.
};

// What was at a path before, and what the change made of it.
struct Touched {
  std::string path;
  std::size_t step = 0;             // Index into steps, or steps.size() + index into on_confirm.
  bool generated = false;           // Made from other files by a command.
  std::optional<FileEntry> before;  // nullopt: nothing was there.
  std::string original;             // File name in originals/; empty where there were no bytes.
  std::string before_checksum;      // SHA-256, hex; of a file.
  std::optional<FileEntry> after;   // Once its step is done; nullopt: nothing is there.
  std::string after_checksum;
  bool recorded = false;  // `after` holds what the step left.
};

struct Record {
  std::string id;    // "20261121T223011Z-ttm-cap".
  std::string made;  // "2026-11-21T22:30:11Z".
  State state = State::preparing;
  Change change;
  std::vector<Touched> touched;
  std::size_t steps_done = 0;  // Of change.steps, then of change.on_confirm.
  std::vector<std::string> folders_made;
  std::string boot_id;  // Of the boot that it was applied in; empty where unknown.
  std::string ended;    // When the state became its last.
  std::string said;     // Why it is in this state, where there is something to say.
};

std::string_view to_string(State state);
// Undo would have something to do.
bool is_in_force(State state);
// A change was interrupted: nothing else may begin before it is undone.
bool is_interrupted(State state);

}  // namespace headroom::plan
