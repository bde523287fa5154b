// SPDX-License-Identifier: Apache-2.0
#include "change/transaction.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/shell_quote.h"
#include "change/observe.h"
#include "machine/user.h"

namespace headroom::change {
namespace {

// Beside the originals the journal needs room for its records.
constexpr std::uint64_t room_for_records = std::uint64_t{4} << 20U;

plan::Touched* find(plan::Record& record, const std::string& path) {
  const auto found =
      std::find_if(record.touched.begin(), record.touched.end(),
                   [&path](const plan::Touched& touched) { return touched.path == path; });
  return found == record.touched.end() ? nullptr : &*found;
}

Status check_rights(const Doors& doors, const plan::Change& change, StepRange range) {
  if (!doors.files.is_real() || machine::runs_as_root()) return Done{};
  for (std::size_t i = range.from; i < range.to; ++i) {
    const plan::Step& step = step_at(change, i);
    if (!step.needs_root || std::holds_alternative<plan::Instruction>(step.action)) continue;
    return Error{Errc::no_permission,
                 fmt::format("expected root for step {} ({}), found an ordinary "
                             "user",
                             i + 1, step.what),
                 fmt::format("sudo {} --apply", shell_line(change.words))};
  }
  return Done{};
}

Status check_room(const Doors& doors, const Journal& journal, const plan::Change& change,
                  StepRange range) {
  std::uint64_t needed = room_for_records;
  for (std::size_t i = range.from; i < range.to; ++i) {
    HEADROOM_TRY(const StepPaths paths, paths_of(doors.files, step_at(change, i)));
    for (const auto* list : {&paths.authored, &paths.generated}) {
      for (const std::string& path : *list) {
        HEADROOM_TRY(const auto entry, doors.files.look(path));
        if (entry) needed += entry->size;
      }
    }
  }
  const std::string folder = journal.folder_of("");
  HEADROOM_TRY(const std::uint64_t free, doors.files.free_bytes(folder));
  if (needed <= free) return Done{};
  return Error{Errc::no_space,
               fmt::format("expected {} free for copies of what would be changed, in {}; found "
                           "{}",
                           to_string(Bytes{needed}), folder, to_string(Bytes{free})),
               "df -h " + folder};
}

struct Place {
  std::string path;
  std::size_t step = 0;
  bool generated = false;
};

Status keep(const Doors& doors, Journal& journal, plan::Record& record, const Place& place) {
  plan::Touched touched;
  touched.path = place.path;
  touched.step = place.step;
  touched.generated = place.generated;
  HEADROOM_TRY(const Sight now, observe(doors.files, touched.path));
  touched.before = now.entry;
  touched.before_checksum = now.checksum;
  if (now.entry && now.entry->kind == EntryKind::file) {
    HEADROOM_CHECK(journal.keep_original(record.id, touched, record.touched.size() + 1));
  } else if (now.entry && now.entry->kind != EntryKind::link) {
    return Error{Errc::invalid,
                 touched.path +
                     ": expected a file, a link or nothing, found something else; "
                     "nothing was done",
                 ""};
  }
  record.touched.push_back(std::move(touched));
  return Done{};
}

Status note(const Doors& doors, plan::Record& record, const Place& place) {
  plan::Touched* touched = find(record, place.path);
  if (touched == nullptr) {  // The command made it.
    touched = &record.touched.emplace_back();
    touched->path = place.path;
    touched->generated = place.generated;
  }
  HEADROOM_TRY(const Sight now, observe(doors.files, place.path));
  touched->step = place.step;
  touched->done = true;
  touched->after = now.entry;
  touched->after_checksum = now.checksum;
  return Done{};
}

Status note_all(const Doors& doors, plan::Record& record, std::size_t step) {
  HEADROOM_TRY(const StepPaths paths, paths_of(doors.files, step_at(record.change, step)));
  for (const std::string& path : paths.authored) {
    HEADROOM_CHECK(note(doors, record, {path, step, false}));
  }
  for (const std::string& path : paths.generated) {
    HEADROOM_CHECK(note(doors, record, {path, step, true}));
  }
  // What the command took away matches no pattern any more.
  for (const plan::Touched& touched : record.touched) {
    if (touched.step == step && !touched.done) {
      HEADROOM_CHECK(note(doors, record, {touched.path, step, touched.generated}));
    }
  }
  return Done{};
}

// From here on whatever is found at these paths may be the command's half-done work.
Status mark_running(const Doors& doors, Journal& journal, plan::Record& record, std::size_t index) {
  HEADROOM_TRY(const StepPaths paths, paths_of(doors.files, step_at(record.change, index)));
  for (const auto* list : {&paths.authored, &paths.generated}) {
    for (const std::string& path : *list) {
      plan::Touched* touched = find(record, path);
      if (touched == nullptr) continue;  // Somebody made it since; the command may edit it.
      touched->step = index;
      touched->done = false;
    }
  }
  record.running = index;
  return journal.save(record);
}

Status carry_out_one(const Doors& doors, Journal& journal, plan::Record& record) {
  const std::size_t index = record.steps_done;
  const plan::Step& step = step_at(record.change, index);
  if (std::holds_alternative<plan::Command>(step.action)) {
    HEADROOM_CHECK(mark_running(doors, journal, record, index));
  }
  HEADROOM_CHECK(carry_out(doors, step));
  HEADROOM_CHECK(note_all(doors, record, index));
  record.running.reset();
  ++record.steps_done;
  return journal.save(record);
}

}  // namespace

Status check_ready(const Doors& doors, const Journal& journal, const plan::Change& change,
                   StepRange range, bool resuming) {
  HEADROOM_CHECK(check_rights(doors, change, range));
  std::vector<std::string> seen;  // A file that an earlier step writes is as that one leaves it.
  for (std::size_t i = range.from; i < range.to; ++i) {
    const plan::Step& step = step_at(change, i);
    HEADROOM_TRY(const StepPaths paths, paths_of(doors.files, step));
    const bool again =
        std::any_of(paths.authored.begin(), paths.authored.end(), [&seen](const auto& path) {
          return std::find(seen.begin(), seen.end(), path) != seen.end();
        });
    if (!again) HEADROOM_CHECK(check_ready(doors, step, resuming));
    seen.insert(seen.end(), paths.authored.begin(), paths.authored.end());
  }
  return check_room(doors, journal, change, range);
}

Status keep_originals(const Doors& doors, Journal& journal, plan::Record& record, StepRange range) {
  for (std::size_t i = range.from; i < range.to; ++i) {
    const plan::Step& step = step_at(record.change, i);
    HEADROOM_TRY(const StepPaths paths, paths_of(doors.files, step));
    const auto add = [&](const std::string& path, bool generated) -> Status {
      plan::Touched* touched = find(record, path);
      if (touched == nullptr) {
        return keep(doors, journal, record, {path, i, generated});
      }
      touched->generated = touched->generated && generated;
      return Done{};
    };
    for (const std::string& path : paths.authored) HEADROOM_CHECK(add(path, false));
    for (const std::string& path : paths.generated) HEADROOM_CHECK(add(path, true));
    HEADROOM_TRY(const auto folders, missing_folders(doors.files, step));
    for (const std::string& folder : folders) {
      auto& made = record.folders_made;
      if (std::find(made.begin(), made.end(), folder) == made.end()) made.push_back(folder);
    }
  }
  return Done{};
}

Status carry_out_all(const Doors& doors, Journal& journal, plan::Record& record, StepRange range) {
  while (record.steps_done < range.to) {
    const std::size_t index = record.steps_done;  // Counted up before the journal is written.
    if (auto done = carry_out_one(doors, journal, record); !done) {
      const std::string& what = step_at(record.change, index).what;
      return std::move(done).error().in(fmt::format("step {} ({})", index + 1, what));
    }
  }
  return Done{};
}

}  // namespace headroom::change
