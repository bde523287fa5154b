// SPDX-License-Identifier: Apache-2.0
// The change of a deployment: its files read, made into steps, and done or taken back by the change
// engine, whose journal begins at the state folder.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "change/carry_out.h"
#include "change/journal.h"
#include "deploy/deployer.h"
#include "deploy/spec.h"
#include "machine/files.h"
#include "machine/programs.h"
#include "machine/writable_files.h"
#include "plan/change.h"

namespace headroom::service {

// A path of SERVICE.toml, which is relative to its folder.
std::string absolute_in(const std::string& folder, const std::string& path);

// Reads the files of SERVICE.toml, relative to `folder`. `captured`: the files of another machine,
// which are read there where it has them; null: of this system alone. Fails with what is wrong with
// the file: not_found, invalid, unsupported; or with no_permission.
Result<plan::Change> read_change(const deploy::ServiceSpec& spec, const std::string& folder,
                                 const machine::Files* captured, std::vector<std::string> words);

// Fails with no_permission where this user may not change one of its files.
Status check_rights(const plan::Change& change, const std::vector<std::string>& words);

// The doors to the change engine. One thread.
class ServiceChange {
 public:
  // `files` are this system's and must outlive this.
  static Result<std::unique_ptr<ServiceChange>> open(machine::WritableFiles& files,
                                                     const std::string& state,
                                                     const std::string& service);

  // Fails with busy where an earlier change was interrupted: the change engine begins nothing
  // before it is undone, and the service would be stopped for nothing.
  Status check_ready() const;
  // Each answers the action of that name.
  deploy::Event apply(const plan::Change& change);
  deploy::Event undo(const std::string& id, const std::string& why);
  // What the journal has of a deployment whose record knows `id`, or whose change began at
  // `began_s` (since 1970) or later where it knows none.
  Result<deploy::event::Found> find(const std::string& id, std::int64_t began_s) const;
  // The change itself, for the report; nothing where it cannot be read.
  std::optional<plan::Change> read(const std::string& id) const;

 private:
  ServiceChange(machine::WritableFiles& files, std::unique_ptr<machine::Programs> programs,
                const std::string& state, const std::string& service);
  change::Doors doors() const;

  machine::WritableFiles& files_;
  std::unique_ptr<machine::Programs> programs_;
  change::Journal journal_;
  std::string name_;
};

}  // namespace headroom::service
