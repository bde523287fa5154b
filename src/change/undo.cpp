// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "change/change_machine.h"
#include "change/observe.h"
#include "change/restore.h"

namespace headroom::change {
namespace {

bool touches(const plan::Record& record, const std::string& path) {
  return std::any_of(record.touched.begin(), record.touched.end(), [&path](const auto& touched) {
    return touched.path == path && !touched.generated;
  });
}

Status refuse_below_later(const Journal& journal, const plan::Record& record) {
  HEADROOM_TRY(const auto listing, journal.read_all());
  for (const Error& error : listing.unreadable) return error;  // It may be a later one.
  for (const plan::Record& later : listing.records) {
    if (later.id <= record.id || !plan::is_in_force(later.state)) continue;
    for (const plan::Touched& touched : record.touched) {
      if (touched.generated || !touches(later, touched.path)) continue;
      return Error{Errc::invalid,
                   fmt::format("expected {} to be the last change of {}; {} came later and is in "
                               "force; nothing was done",
                               record.id, touched.path, later.id),
                   plan::undo_command(later)};
    }
  }
  return Done{};
}

Status refuse_edited(const Journal& journal, const plan::Record& record,
                     const std::vector<PathFate>& fates) {
  std::string differences;
  for (const PathFate& path : fates) {
    if (path.fate == Fate::edited) differences += path.difference;
  }
  if (differences.empty()) return Done{};
  return Error{Errc::invalid,
               fmt::format("expected the files of {} as it left them, found them changed since; "
                           "nothing was done\n{}",
                           record.id, differences),
               "undo that edit first, or take the change back by hand: its originals are in " +
                   journal.folder_of(record.id)};
}

// For a copy of half-done work. An undo that was itself interrupted may have left some.
Result<std::string> free_name(const Doors& doors, const Journal& journal, const std::string& id) {
  for (std::size_t number = 1;; ++number) {
    std::string path = journal.original_path(id, fmt::format("half-done-{:04}", number));
    HEADROOM_TRY(const auto taken, doors.files.look(path));
    if (!taken) return path;
  }
}

// What an interrupted command made that was not there before, and what it left half-written. Kept
// in the journal all the same, and named: it could be somebody else's.
Status remove_half_done(const Doors& doors, Journal& journal, Undone& undone) {
  const plan::Record& record = undone.record;
  if (!record.running) return Done{};
  HEADROOM_TRY(const StepPaths paths,
               paths_of(doors.files, step_at(record.change, *record.running)));
  for (const auto* list : {&paths.authored, &paths.generated}) {
    for (const std::string& path : *list) {
      const auto known = std::any_of(record.touched.begin(), record.touched.end(),
                                     [&path](const auto& touched) { return touched.path == path; });
      HEADROOM_TRY(const auto entry, doors.files.look(path));
      if (known || !entry || is_later(doors, entry)) continue;
      HEADROOM_TRY(const std::string kept, free_name(doors, journal, record.id));
      HEADROOM_CHECK(doors.files.copy(path, kept, entry->attributes));
      HEADROOM_CHECK(doors.files.remove(path));
      undone.notes.push_back(
          fmt::format("removed {}, which the interrupted command had made; a "
                      "copy is in {}",
                      path, kept));
    }
  }
  return Done{};
}

Status restore_all(const Doors& doors, Journal& journal, Undone& undone,
                   const std::vector<PathFate>& fates) {
  const plan::Record& record = undone.record;
  HEADROOM_CHECK(remove_half_done(doors, journal, undone));
  for (auto path = fates.rbegin(); path != fates.rend(); ++path) {
    if (path->fate == Fate::restore) {
      HEADROOM_CHECK(restore(doors, journal, record, *path->touched));
      ++undone.restored;
    } else if (path->fate == Fate::as_before) {
      HEADROOM_CHECK(doors.files.remove_leftover(path->touched->path));
    }
  }
  for (auto folder = record.folders_made.rbegin(); folder != record.folders_made.rend(); ++folder) {
    // One that somebody put something into since stays.
    const auto names = doors.files.list(*folder);
    if (names && names->empty()) HEADROOM_CHECK(doors.files.remove_folder(*folder));
  }
  return Done{};
}

// A file that the command generates was made since, by whomever: one that we know, or one that came
// with a newer kernel.
bool made_anew(const StepPaths& paths, const std::vector<PathFate>& fates) {
  return std::any_of(paths.generated.begin(), paths.generated.end(), [&fates](const auto& path) {
    const auto known = std::find_if(fates.begin(), fates.end(), [&path](const PathFate& one) {
      return one.touched->path == path;
    });
    return known == fates.end() || known->fate == Fate::made_anew;
  });
}

// Loader entries that came with a newer kernel took the words over from the others.
Status name_newer_entries(const Doors& doors, const std::vector<PathFate>& fates, Undone& undone) {
  const plan::Change& change = undone.record.change;
  for (std::size_t i = 0; i < undone.record.steps_done; ++i) {
    HEADROOM_TRY(const StepPaths paths, paths_of(doors.files, step_at(change, i)));
    for (const std::string& path : paths.authored) {
      const bool known = std::any_of(fates.begin(), fates.end(), [&path](const PathFate& one) {
        return one.touched->path == path;
      });
      const auto text = known ? Result<std::string>(std::string()) : doors.files.read(path);
      if (!text) continue;
      for (const std::string& word : change.boots_with) {
        if (text->find(word) == std::string::npos) continue;
        undone.notes.push_back(fmt::format(
            "{} is newer than this change and still has {}: take it out by hand", path, word));
      }
    }
  }
  return Done{};
}

// Commands whose effects no saved bytes hold. One that only tells a service is not worth stopping
// for; one that has to make a file anew is.
Status run_undo_commands(const Doors& doors, const std::vector<PathFate>& fates, Undone& undone) {
  const plan::Record& record = undone.record;
  const std::size_t begun = record.running ? *record.running + 1 : record.steps_done;
  std::vector<std::vector<std::string>> ran;  // Once is enough: all files are as they should be.
  for (std::size_t i = 0; i < begun; ++i) {
    const auto* command = std::get_if<plan::Command>(&step_at(record.change, i).action);
    if (command == nullptr || command->undo.empty()) continue;
    HEADROOM_TRY(const StepPaths paths, paths_of(doors.files, step_at(record.change, i)));
    const bool anew = made_anew(paths, fates);
    const bool run = command->undo_run == plan::UndoRun::always ||
                     (command->undo_run == plan::UndoRun::if_changed && anew);
    if (!run || std::find(ran.begin(), ran.end(), command->undo) != ran.end()) continue;
    ran.push_back(command->undo);
    auto done = run_command(doors, command->undo);
    if (!done && anew) return done;
    const std::string words = join(command->undo, " ");
    undone.notes.push_back(done ? "ran " + words : "by hand, please: " + done.error().message);
  }
  return Done{};
}

}  // namespace

Result<Undone> undo(const Doors& doors, Journal& journal, std::string_view id,
                    std::string_view why) {
  HEADROOM_TRY(const auto lock, journal.lock());
  HEADROOM_TRY(auto record, journal.read(id));
  if (record.state == plan::State::undone) {
    return Error{Errc::invalid, fmt::format("{} is undone already", record.id), "headroom history"};
  }
  Undone undone{std::move(record), 0, {}};
  HEADROOM_CHECK(refuse_below_later(journal, undone.record));
  HEADROOM_TRY(const auto fates, decide(doors, journal, undone.record));
  HEADROOM_CHECK(refuse_edited(journal, undone.record, fates));
  HEADROOM_CHECK(check_originals(doors, journal, undone.record, fates));
  undone.record.state = plan::State::undoing;
  if (!why.empty()) undone.record.said = why;
  HEADROOM_CHECK(journal.save(undone.record));
  HEADROOM_CHECK(restore_all(doors, journal, undone, fates));
  HEADROOM_CHECK(run_undo_commands(doors, fates, undone));
  HEADROOM_CHECK(name_newer_entries(doors, fates, undone));
  for (const PathFate& path : fates) {
    if (path.fate == Fate::made_anew) {
      undone.notes.push_back(path.touched->path + " was made anew since and stays as it is now");
    } else if (path.fate == Fate::gone) {
      undone.notes.push_back(path.touched->path + " went with its kernel and stays away");
    }
  }
  undone.record.state = plan::State::undone;
  undone.record.ended = doors.now;
  HEADROOM_CHECK(journal.save(undone.record));
  return undone;
}

}  // namespace headroom::change
