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
                 "expected to be the only one that changes this machine; another " +
                     std::string("headroom is at it"),
                 "headroom history   (once it is done)"};
  }
  return lock;
}

Result<std::vector<std::string>> Journal::names() const {
  auto names = files_.list(folder_ + "/changes");
  if (names) return names;
  if (names.error().code == Errc::not_found) return std::vector<std::string>();
  return std::move(names).error();
}

Result<plan::Record> Journal::read(std::string_view id) const {
  const std::string path = folder_of(id) + "/record.json";
  const auto text = id.find('/') == std::string_view::npos && !id.starts_with('.')
                        ? files_.read(path)
                        : Result<std::string>(Error{Errc::not_found, "no such change", ""});
  if (!text && text.error().code == Errc::not_found) {
    return Error{Errc::not_found,
                 fmt::format("expected the id of a change in {}, found \"{}\"", folder_, id),
                 "headroom history"};
  }
  if (!text) return text.error();
  auto record = plan::parse_record(*text);
  if (record) record->of_system = is_system();
  if (record && record->id == id) return record;
  Error error = record ? Error{Errc::invalid, "expected its own id, found " + record->id, ""}
                       : std::move(record).error();
  error.next = fmt::format("look at it; once it is of no use: sudo mv {} ~/", folder_of(id));
  return std::move(error).in("reading " + path);
}

Result<Journal::Listing> Journal::read_all() const {
  HEADROOM_TRY(auto ids, names());
  std::sort(ids.rbegin(), ids.rend());
  Listing listing;
  for (const std::string& id : ids) {
    auto record = read(id);
    if (record) {
      listing.records.push_back(*std::move(record));
    } else if (record.error().code != Errc::not_found) {  // Without a record it never began.
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
  for (const std::string& inner : {folder + "/originals", folder}) {
    const auto names = files_.list(inner);
    if (!names) continue;
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
  // one second ('.' sorts after '-').
  for (const std::string& one : taken) {
    const std::string other = one.substr(0, one.find_first_of("-."));
    if (other.size() == stamp.size()) stamp = std::max(stamp, other);
  }
  const auto before = std::count_if(taken.begin(), taken.end(),
                                    [&stamp](const auto& one) { return one.starts_with(stamp); });
  const auto name = [&](auto number) {
    const std::string more = number == 0 ? "" : fmt::format(".{}", number + 1);
    return fmt::format("{}{}-{}", stamp, more, fix);
  };
  auto number = before;
  while (std::find(taken.begin(), taken.end(), name(number)) != taken.end()) ++number;
  const std::string id = name(number);
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
  return files_.replace(folder + "/record.json", plan::to_json_text(record), attributes);
}

}  // namespace headroom::change
