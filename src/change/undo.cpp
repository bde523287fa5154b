// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

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
    if (!plan::is_earlier_id(record.id, later.id) || !plan::is_in_force(later.state)) continue;
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
               "undo that edit first, or undo the change by hand: its originals are in " +
                   journal.folder_of(record.id)};
}

// "2026-11-21T22:30:11Z" in seconds since 1970; 0 where it is no such time.
std::int64_t seconds_of(std::string_view time) {
  if (time.size() < 19) return 0;
  const auto number = [time](std::size_t from, std::size_t count) {
    return static_cast<unsigned>(parse_u64(time.substr(from, count)).value_or(0));
  };
  const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(number(0, 4))),
                                        std::chrono::month(number(5, 2)),
                                        std::chrono::day(number(8, 2))};
  const auto days = std::chrono::sys_days(day).time_since_epoch().count();
  const auto two = [&number](std::size_t from) { return std::int64_t{number(from, 2)}; };
  return std::int64_t{days} * 86400 + two(11) * 3600 + two(14) * 60 + two(17);
}

// What the interrupted command may have made: all that its patterns match, and what was written
// beside that since the change began ("grub.cfg.new": what programs write to first).
Result<std::vector<std::string>> perhaps_half_done(const Doors& doors, const plan::Record& record) {
  const auto* command = std::get_if<plan::Command>(&step_at(record.change, *record.running).action);
  std::vector<std::string> paths;
  if (command == nullptr) return paths;
  const std::int64_t made_s = seconds_of(record.made);
  for (const auto* patterns : {&command->edits, &command->generates}) {
    for (const std::string& pattern : *patterns) {
      HEADROOM_TRY(const auto exactly, doors.files.match(pattern));
      HEADROOM_TRY(const auto beside, doors.files.match(pattern + "*"));
      for (const std::string& path : exactly) {
        HEADROOM_TRY(auto real, doors.files.resolve(path));
        paths.push_back(std::move(real));
      }
      for (const std::string& path : beside) {
        HEADROOM_TRY(const auto entry, doors.files.look(path));
        HEADROOM_TRY(auto real, doors.files.resolve(path));
        if (entry && entry->modified_s >= made_s) paths.push_back(std::move(real));
      }
    }
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

// Named, never removed: they could be somebody else's, such as those of a kernel that came in
// between. What our own edits made is known and goes with the rest.
Status name_half_done(const Doors& doors, Undone& undone) {
  const plan::Record& record = undone.record;
  if (!record.running) return Done{};
  HEADROOM_TRY(const auto paths, perhaps_half_done(doors, record));
  for (const std::string& path : paths) {
    const auto known = std::any_of(record.touched.begin(), record.touched.end(),
                                   [&path](const auto& touched) { return touched.path == path; });
    HEADROOM_TRY(const auto entry, doors.files.look(path));
    if (known || !entry || is_later(doors, entry)) continue;
    undone.left.push_back(path);
    undone.notes.push_back(fmt::format(
        "{} was not there before and stays. It may be unfinished work of the interrupted command, "
        "or another program's file. Look at it, and remove it if it is of no use",
        path));
  }
  return Done{};
}

// Its other names still have the bytes that they had, but it is no longer one file with them.
void name_parted(const std::vector<PathFate>& fates, Undone& undone) {
  for (const PathFate& path : fates) {
    const auto& before = path.touched->before;
    if (path.fate != Fate::restore || !before || before->names < 2) continue;
    undone.notes.push_back(
        fmt::format("{} had {} names (hard links) before this change. Its contents are restored, "
                    "but it is a separate file now. ln -f OTHER-NAME {} makes them one again",
                    path.touched->path, before->names, path.touched->path));
  }
}

Status restore_all(const Doors& doors, Journal& journal, Undone& undone,
                   const std::vector<PathFate>& fates) {
  const plan::Record& record = undone.record;
  HEADROOM_CHECK(name_half_done(doors, undone));
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
// with a newer kernel. Those of `but` do not count.
bool made_anew(const StepPaths& paths, const std::vector<PathFate>& fates,
               const std::vector<std::string>& but) {
  return std::any_of(paths.generated.begin(), paths.generated.end(), [&](const auto& path) {
    if (std::find(but.begin(), but.end(), path) != but.end()) return false;
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
            "{} is newer than this change and still has {}. Remove it by hand", path, word));
      }
    }
  }
  return Done{};
}

// Commands whose effects no saved bytes hold. One that only tells a service is not worth stopping
// for; one that has to make a file anew is. What an interrupted command may have left half done is
// no such file: it can be the very reason why the command fails again (a full /boot).
Status run_undo_commands(const Doors& doors, const std::vector<PathFate>& fates, Undone& undone) {
  const plan::Record& record = undone.record;
  const std::size_t begun = record.running ? *record.running + 1 : record.steps_done;
  std::vector<std::vector<std::string>> ran;  // Once is enough: all files are as they should be.
  for (std::size_t i = 0; i < begun; ++i) {
    const auto* command = std::get_if<plan::Command>(&step_at(record.change, i).action);
    if (command == nullptr || command->undo.empty()) continue;
    HEADROOM_TRY(const StepPaths paths, paths_of(doors.files, step_at(record.change, i)));
    const bool anew = made_anew(paths, fates, {});
    const bool run = command->undo_run == plan::UndoRun::always ||
                     (command->undo_run == plan::UndoRun::if_changed && anew);
    if (!run || std::find(ran.begin(), ran.end(), command->undo) != ran.end()) continue;
    ran.push_back(command->undo);
    auto done = run_command(doors, command->undo);
    if (!done && made_anew(paths, fates, undone.left)) return done;
    const std::string words = join(command->undo, " ");
    undone.notes.push_back(done ? "ran " + words : "do this by hand: " + done.error().message);
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
  Undone undone{std::move(record), 0, {}, {}};
  HEADROOM_CHECK(refuse_below_later(journal, undone.record));
  HEADROOM_TRY(const auto fates, decide(doors, journal, undone.record));
  HEADROOM_CHECK(refuse_edited(journal, undone.record, fates));
  HEADROOM_CHECK(check_originals(doors, journal, undone.record, fates));
  if (undone.record.state != plan::State::undoing) undone.record.undone_from = undone.record.state;
  undone.record.state = plan::State::undoing;
  if (!why.empty()) undone.record.said = why;
  HEADROOM_CHECK(journal.save(undone.record));
  HEADROOM_CHECK(restore_all(doors, journal, undone, fates));
  HEADROOM_CHECK(run_undo_commands(doors, fates, undone));
  HEADROOM_CHECK(name_newer_entries(doors, fates, undone));
  name_parted(fates, undone);
  for (const PathFate& path : fates) {
    if (path.fate == Fate::made_anew) {
      HEADROOM_TRY(const auto entry, doors.files.look(path.touched->path));
      undone.notes.push_back(path.touched->path + (entry
                                                       ? " was rebuilt since and stays as it is now"
                                                       : " was removed since and stays removed"));
    } else if (path.fate == Fate::gone) {
      undone.notes.push_back(path.touched->path + " was removed with its kernel and stays removed");
    }
  }
  undone.record.state = plan::State::undone;
  undone.record.ended = doors.now;
  HEADROOM_CHECK(journal.save(undone.record));
  return undone;
}

}  // namespace headroom::change
