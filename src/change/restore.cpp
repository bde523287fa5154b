// SPDX-License-Identifier: Apache-2.0
#include "change/restore.h"

#include <fmt/format.h>

#include "base/diff.h"
#include "change/observe.h"
#include "machine/checksum.h"

namespace headroom::change {
namespace {

// What a step means to leave there, known before it ran: a crash between the edit and the journal's
// note of it leaves exactly these bytes.
bool is_meant(const Doors& doors, const plan::Step& step, const std::string& path,
              const Sight& now) {
  if (const auto* link = std::get_if<plan::LinkEdit>(&step.action)) {
    if (link->path != path) return false;
    if (!link->after) return !now.entry;
    return now.entry && now.entry->kind == EntryKind::link && now.entry->target == *link->after;
  }
  const auto* edit = std::get_if<plan::FileEdit>(&step.action);
  if (edit == nullptr) return false;
  const auto real = doors.files.resolve(edit->path);
  if (!real || *real != path) return false;
  if (!edit->after) return !now.entry;
  return now.entry && now.entry->kind == EntryKind::file &&
         now.checksum == machine::sha256(*edit->after);
}

bool is_ours(const Doors& doors, const plan::Record& record, const plan::Touched& touched,
             const Sight& now) {
  if (touched.done && now == sight_after(touched)) return true;
  if (record.running && !touched.done && touched.step == *record.running) {
    return !is_later(doors, now.entry);
  }
  // Of an edit that was under way; what earlier steps left is noted.
  const std::size_t step = record.steps_done;
  return step < step_count(record.change) &&
         is_meant(doors, step_at(record.change, step), touched.path, now);
}

std::string describe(const std::optional<FileEntry>& entry) {
  if (!entry) return "nothing there";
  if (entry->kind == EntryKind::link) return "a link to " + entry->target;
  return fmt::format("mode {:04o}, owner {}:{}", entry->attributes.mode, entry->attributes.uid,
                     entry->attributes.gid);
}

// From what this change left, where its text is known, else from the original.
std::string difference(const Doors& doors, const Journal& journal, const plan::Record& record,
                       const plan::Touched& touched, const Sight& now) {
  const Sight left = touched.done ? sight_after(touched) : sight_before(touched);
  const bool same_bytes = left.checksum == now.checksum && left.entry && now.entry;
  if (same_bytes || !now.entry || now.entry->kind != EntryKind::file) {
    return fmt::format("{}: {} when this change was done, {} now\n", touched.path,
                       describe(left.entry), describe(now.entry));
  }
  std::string before;
  bool known_after = false;
  for (std::size_t i = 0; i < step_count(record.change); ++i) {
    const auto* edit = std::get_if<plan::FileEdit>(&step_at(record.change, i).action);
    const bool known = edit != nullptr && edit->path == touched.path && edit->after &&
                       machine::sha256(*edit->after) == touched.after_checksum;
    if (!known) continue;
    before = *edit->after;
    known_after = true;
  }
  if (!known_after && !touched.original.empty()) {
    auto original = doors.files.read(journal.original_path(record.id, touched.original));
    if (original) before = *std::move(original);
  }
  const auto text = doors.files.read(touched.path);
  if (!text) return text.error().message + "\n";
  const std::string_view left_by =
      known_after ? " (as this change left it)" : " (before this change, whose program edited it)";
  return unified_diff(before, *text, touched.path + std::string(left_by), touched.path + " (now)");
}

}  // namespace

Result<std::vector<PathFate>> decide(const Doors& doors, const Journal& journal,
                                     const plan::Record& record) {
  std::vector<PathFate> fates;
  for (const plan::Touched& touched : record.touched) {
    PathFate path{&touched, Fate::restore, ""};
    HEADROOM_TRY(const Sight now, observe(doors.files, touched.path));
    if (now == sight_before(touched)) {
      path.fate = Fate::as_before;
    } else if (!is_ours(doors, record, touched, now)) {
      path.fate = touched.generated ? Fate::made_anew : Fate::edited;
      const bool gone = touched.before && !now.entry && is_loader_entry(touched.path);
      if (gone) path.fate = Fate::gone;
      if (path.fate == Fate::edited) {
        path.difference = difference(doors, journal, record, touched, now);
      }
    }
    fates.push_back(std::move(path));
  }
  return fates;
}

bool is_later(const Doors& doors, const std::optional<FileEntry>& entry) {
  return doors.booted_s > 0 && entry && entry->modified_s >= doors.booted_s;
}

Status check_originals(const Doors& doors, const Journal& journal, const plan::Record& record,
                       const std::vector<PathFate>& fates) {
  for (const PathFate& path : fates) {
    if (path.fate != Fate::restore || path.touched->original.empty()) continue;
    const std::string original = journal.original_path(record.id, path.touched->original);
    const auto checksum = machine::sha256_of(doors.files, original);
    if (checksum && *checksum == path.touched->before_checksum) continue;
    return Error{
        Errc::io,
        fmt::format("expected {} to hold the bytes that {} had before, found {}; nothing "
                    "was done",
                    original, path.touched->path, checksum ? "others" : checksum.error().message),
        "restore that file from a backup of your own, then " + plan::undo_command(record)};
  }
  return Done{};
}

Status restore(const Doors& doors, const Journal& journal, const plan::Record& record,
               const plan::Touched& touched) {
  HEADROOM_CHECK(doors.files.remove_leftover(touched.path));
  if (!touched.before) return doors.files.remove(touched.path);
  if (touched.before->kind == EntryKind::link) {
    return doors.files.make_link(touched.path, touched.before->target);
  }
  const std::string original = journal.original_path(record.id, touched.original);
  return doors.files.copy(original, touched.path, touched.before->attributes);
}

}  // namespace headroom::change
