// SPDX-License-Identifier: Apache-2.0
// The journal of changes (plan/record.h says what a folder of it holds). Write-ahead: what a record
// names is on disk before the machine is touched, and a change that has no record never began. One
// writer at a time, by lock().
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

  // Fails with busy while another process changes this machine.
  Result<machine::Descriptor> lock();
  struct Listing {
    std::vector<plan::Record> records;  // Newest first.
    std::vector<Error> unreadable;      // A record that cannot be read is said, not skipped.
  };
  Result<Listing> read_all() const;
  // Fails with not_found, and names what there is.
  Result<plan::Record> read(std::string_view id) const;

  // The folder of a new change; its id is made of the time and the fix, and is not taken yet. What
  // an earlier attempt left behind without a record is removed.
  Result<std::string> begin(std::string_view now, std::string_view fix);
  // Copies the bytes of touched.path, with owner, mode and labels, into originals/ and names them.
  Status keep_original(std::string_view id, plan::Touched& touched, std::size_t number);
  // Replaces record.json, and undo.sh first.
  Status save(const plan::Record& record);

  bool is_system() const { return folder_ == system_journal; }
  std::string folder_of(std::string_view id) const;
  std::string original_path(std::string_view id, std::string_view original) const;

 private:
  Status make_folders(const std::string& path);
  Status remove_abandoned(const std::string& id);
  Result<std::vector<std::string>> names() const;

  machine::WritableFiles& files_;
  std::string folder_;
};

}  // namespace headroom::change
