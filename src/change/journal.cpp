// SPDX-License-Identifier: Apache-2.0
#include "change/journal.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "change/undo_script.h"
#include "plan/record_json.h"

namespace headroom::change {
namespace {

constexpr std::uint32_t private_folder = 0700;
constexpr std::string_view preparing = "/preparing";

// For the owner of the journal alone: it may hold what nobody else may read.
FileAttributes private_file_in(const FileEntry& folder) {
  FileAttributes attributes;
  attributes.mode = 0600;
  attributes.uid = folder.attributes.uid;
  attributes.gid = folder.attributes.gid;
  return attributes;
}

}  // namespace

Journal::Journal(machine::WritableFiles& files, std::string folder)
    : files_(files), folder_(std::move(folder)) {}

std::string Journal::folder_of(std::string_view id) const {
  return fmt::format("{}/changes/{}", folder_, id);
}

std::string Journal::original_path(std::string_view id, std::string_view original) const {
  return fmt::format("{}/originals/{}", folder_of(id), original);
}

Status Journal::make_folders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    // The folders above ours are ordinary ones; ours keep other people's bytes.
    const bool ours = part.starts_with(folder_);
    HEADROOM_CHECK(files_.make_folder(part, ours ? private_folder : 0755));
    if (slash == std::string::npos) return Done{};
  }
}

Result<machine::Descriptor> Journal::lock() {
  HEADROOM_CHECK(make_folders(folder_));
  auto lock = files_.lock(folder_ + "/lock");
  if (!lock && lock.error().code == Errc::busy) {
    return Error{Errc::busy,
                 "expected no other program that changes this machine; found: " +
                     machine::describe(holders()),
                 "wait until it has ended, then the same command again"};
  }
  return lock;
}

std::vector<machine::LockHolder> Journal::holders() const {
  return files_.lock_holders(folder_ + "/lock");
}

// Nothing in the way of a folder's path is none; a file there, or a link that leads nowhere (its
// file system is not mounted), hides what was in it.
Result<bool> Journal::is_not_begun() const {
  for (const std::string& path : {folder_, folder_ + "/changes"}) {
    const auto entry = files_.look(path);
    if (!entry) return entry.error();
    if (!*entry) return true;
    if ((*entry)->kind == EntryKind::folder) continue;
    if ((*entry)->kind == EntryKind::link && files_.list(path)) continue;
    return Error{Errc::io,
                 fmt::format("expected {} to be the folder of what headroom changed, found {}; "
                             "whether anything was changed is not known",
                             path,
                             (*entry)->kind == EntryKind::link
                                 ? "a link that leads nowhere: " + (*entry)->target
                                 : std::string("something else")),
                 "ls -ld " + path};
  }
  return false;
}

Result<std::vector<std::string>> Journal::names() const {
  auto names = files_.list(folder_ + "/changes");
  if (names || names.error().code == Errc::no_permission) return names;
  HEADROOM_TRY(const bool nothing, is_not_begun());
  if (nothing) return std::vector<std::string>();
  return files_.list(folder_ + "/changes");  // Somebody began a change meanwhile.
}

Result<plan::Record> Journal::read(std::string_view id) const {
  const std::string path = folder_of(id) + "/record.json";
  const auto text = id.find('/') == std::string_view::npos && !id.starts_with('.')
                        ? files_.read(path)
                        : Result<std::string>(Error{Errc::not_found, "no such change", ""});
  if (!text && text.error().code == Errc::not_found) {
    HEADROOM_TRY(const bool nothing, never_began(std::string(id)));
    if (!nothing) {
      return lost(id, {Errc::io, "expected the record of this change, found none", ""});
    }
    return Error{Errc::not_found,
                 fmt::format("expected the id of a change in {}, found \"{}\"", folder_, id),
                 "headroom history"};
  }
  if (!text && text.error().code == Errc::no_permission) return text.error();
  if (!text) return lost(id, text.error());
  auto record = plan::parse_record(*text);
  if (record) record->of_system = is_system();
  if (record && record->id == id) return record;
  return lost(id, record ? Error{Errc::invalid, "expected its own id, found " + record->id, ""}
                         : std::move(record).error());
}

// What is left of a change still leads back.
Error Journal::lost(std::string_view id, Error error) const {
  const std::string folder = folder_of(id);
  const bool script = files_.look(folder + "/undo.sh").value_or(std::nullopt).has_value();
  error.message += fmt::format(
      "; what it changed may be in force; what was there before is in {}/originals", folder);
  const auto entry = files_.look(folder).value_or(std::nullopt);
  const std::string_view sudo = entry && entry->attributes.uid == 0 ? "sudo " : "";
  error.next = script
                   ? fmt::format("{0}sh {1}/undo.sh   (undoes it; then {0}mv {1} ~/)", sudo, folder)
                   : fmt::format("restore by hand what is needed, then {}mv {} ~/", sudo, folder);
  const std::string reading = "reading " + folder + "/record.json";
  return error.message.starts_with(reading) ? error : std::move(error).in(reading);
}

Result<bool> Journal::never_began(const std::string& id) const {
  if (id.empty() || id.find('/') != std::string::npos || id.starts_with('.')) return true;
  const std::string folder = folder_of(id);
  HEADROOM_TRY(const auto marker, files_.look(folder + std::string(preparing)));
  if (marker) return true;
  // A folder that not even says so yet has nothing in it that could be lost.
  for (const std::string& inner : {folder, folder + "/originals"}) {
    const auto names = files_.list(inner);
    if (!names && names.error().code == Errc::not_found) continue;
    if (!names) return names.error();
    for (const std::string& name : *names) {
      if (name != "originals" && !name.starts_with('.')) return false;
    }
  }
  return true;
}

Result<Journal::Listing> Journal::read_all() const {
  HEADROOM_TRY(auto ids, names());
  std::sort(ids.rbegin(), ids.rend(), plan::is_earlier_id);
  Listing listing;
  for (const std::string& id : ids) {
    auto record = read(id);
    if (record) {
      listing.records.push_back(*std::move(record));
    } else if (record.error().code != Errc::not_found) {  // That one never began.
      listing.unreadable.push_back(record.error());
    }
  }
  return listing;
}

// What was being prepared when it was interrupted: the machine was not touched yet.
Status Journal::remove_abandoned(const std::string& id) {
  const std::string folder = folder_of(id);
  HEADROOM_TRY(const auto record, files_.look(folder + "/record.json"));
  if (record) return Done{};
  HEADROOM_TRY(const bool nothing, never_began(id));
  if (!nothing) return Done{};
  // The file that says so goes last.
  const auto is_other = [](const std::string& name) { return "/" + name != preparing; };
  for (const std::string& inner : {folder + "/originals", folder}) {
    auto names = files_.list(inner);
    if (!names) continue;
    std::partition(names->begin(), names->end(), is_other);
    for (const std::string& name : *names) HEADROOM_CHECK(files_.remove(inner + "/" + name));
    HEADROOM_CHECK(files_.remove_folder(inner));
  }
  return Done{};
}

Result<std::string> Journal::begin(std::string_view now, std::string_view fix) {
  std::string stamp;
  std::copy_if(now.begin(), now.end(), std::back_inserter(stamp),
               [](char c) { return c != '-' && c != ':'; });
  HEADROOM_TRY(const auto known, names());
  for (const std::string& id : known) HEADROOM_CHECK(remove_abandoned(id));
  HEADROOM_TRY(const auto taken, names());
  // The order of ids is the order of changes: also where the clock was set back, and of those of
  // one second.
  for (const std::string& one : taken) {
    const std::string other = one.substr(0, one.find_first_of("-."));
    if (other.size() == stamp.size()) stamp = std::max(stamp, other);
  }
  std::uint64_t number = 0;
  for (const std::string& one : taken) {
    if (one.starts_with(stamp)) number = std::max(number, plan::number_in_id(one));
  }
  const std::string more = number == 0 ? "" : fmt::format(".{}", number + 1);
  const std::string id = fmt::format("{}{}-{}", stamp, more, fix);
  HEADROOM_CHECK(make_folders(folder_of(id)));
  HEADROOM_TRY(const auto entry, files_.look(folder_of(id)));
  if (!entry) return Error{Errc::not_found, "expected the folder " + folder_of(id), ""};
  HEADROOM_CHECK(files_.replace(folder_of(id) + std::string(preparing), "nothing was touched yet\n",
                                private_file_in(*entry)));
  HEADROOM_CHECK(make_folders(folder_of(id) + "/originals"));
  return id;
}

Status Journal::keep_original(std::string_view id, plan::Touched& touched, std::size_t number) {
  touched.original = fmt::format("{:04}", number);
  return files_.copy(touched.path, original_path(id, touched.original), touched.before->attributes);
}

Status Journal::save(const plan::Record& record) {
  const std::string folder = folder_of(record.id);
  HEADROOM_TRY(const auto entry, files_.look(folder));
  if (!entry) return Error{Errc::not_found, "expected the folder " + folder + ", found none", ""};
  const FileAttributes attributes = private_file_in(*entry);
  HEADROOM_CHECK(files_.replace(folder + "/undo.sh", undo_script(record), attributes));
  HEADROOM_CHECK(files_.replace(folder + "/record.json", plan::to_json_text(record), attributes));
  HEADROOM_TRY(const auto marker, files_.look(folder + std::string(preparing)));
  return marker ? files_.remove(folder + std::string(preparing)) : Status(Done{});
}

}  // namespace headroom::change
