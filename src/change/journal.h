// SPDX-License-Identifier: Apache-2.0
// The journal of changes (plan/record.h says what a folder of it holds). Write-ahead: what a record
// names is on disk before the machine is touched. A folder that says it is being prepared never
// began; any other without a record has lost it, and is kept and named, for its change may be in
// force. One writer at a time, by lock().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "machine/writable_files.h"
#include "plan/record.h"

namespace headroom::change {

// The journal of the machine, which is root's. A user who changes only what is theirs has their
// own.
inline constexpr std::string_view system_journal = "/var/lib/headroom";

class Journal {
 public:
  // `folder` is a path of the machine: "/var/lib/headroom", or one below a home folder. It is made
  // when something is first written. `files` must outlive this.
  Journal(machine::WritableFiles& files, std::string folder);

  // Fails with busy while another process changes this machine, and names it.
  Result<machine::Descriptor> lock();
  // The processes that change this machine right now; none where nobody does.
  std::vector<machine::LockHolder> holders() const;
  struct Listing {
    std::vector<plan::Record> records;  // Newest first.
    // A record that cannot be read or is lost is said, not skipped, with the way back.
    std::vector<Error> unreadable;
  };
  Result<Listing> read_all() const;
  // Fails with not_found where no such change ever began, with io or invalid where it may have.
  Result<plan::Record> read(std::string_view id) const;

  // The folder of a new change; its id is made of the time and the fix, and is not taken yet. What
  // an earlier attempt had only begun to prepare is removed.
  Result<std::string> begin(std::string_view now, std::string_view fix);
  // Copies the bytes of touched.path, with owner, mode and labels, into originals/ and names them.
  Status keep_original(std::string_view id, plan::Touched& touched, std::size_t number);
  // Replaces record.json, and undo.sh first; the first time it ends the preparation.
  Status save(const plan::Record& record);

  bool is_system() const { return folder_ == system_journal; }
  std::string folder_of(std::string_view id) const;
  std::string original_path(std::string_view id, std::string_view original) const;

 private:
  Status make_folders(const std::string& path);
  // Whether the folder of a change without a record says, or shows, that nothing was touched.
  Result<bool> never_began(const std::string& id) const;
  Error lost(std::string_view id, Error error) const;
  Status remove_abandoned(const std::string& id);
  Result<bool> is_not_begun() const;
  Result<std::vector<std::string>> names() const;

  machine::WritableFiles& files_;
  std::string folder_;
};

}  // namespace headroom::change
