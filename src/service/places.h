// SPDX-License-Identifier: Apache-2.0
// Where deployments keep what outlives them, one folder a service:
//
//   STATE/deploy/NAME/
//     record.json       how far the last one came (deploy/record.h), replaced atomically
//     service.toml      what it was asked to do: the way back needs its commands
//     lock              held while one runs
//     output.log        what `start` and what it leaves write
//     (time).md         the post-mortems, by the time when each was written
//
// The changes themselves are in the change engine's journal, which begins at STATE.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/record.h"
#include "machine/writable_files.h"

namespace headroom::service {

class Places {
 public:
  // `state` is the state folder, absolute. `files` are this system's and must outlive this.
  Places(machine::WritableFiles& files, std::string state, const std::string& service);

  const std::string& state() const { return state_; }
  const std::string& folder() const { return folder_; }
  std::string output_file() const { return folder_ + "/output.log"; }

  // Makes the folders, for their owner alone.
  Status make() const;
  // Held until the Descriptor goes. Fails with busy, and names who holds it.
  Result<machine::Descriptor> lock() const;
  // Who holds it; nobody: no deployment runs.
  std::vector<machine::LockHolder> holders() const;

  // The last deployment's; nothing where there was none.
  Result<std::optional<deploy::Record>> read_record() const;
  // Durable when it returns.
  Status keep(const deploy::Record& record) const;

  // What the last deployment was asked to do.
  Result<std::string> read_service_file() const;
  Status keep_service_file(const std::string& text) const;

  // The body of its request; nothing where it has none. It is kept because a file of the user's may
  // be gone when the old configuration is to be proved.
  Result<std::optional<std::string>> read_body() const;
  Status keep_body(const std::optional<std::string>& body) const;

  // Returns its path.
  Result<std::string> write_postmortem(const std::string& now, const std::string& text) const;

 private:
  Status write(const std::string& path, const std::string& text) const;

  machine::WritableFiles& files_;
  std::string state_;
  std::string folder_;
};

// The services that have a folder there, sorted.
Result<std::vector<std::string>> deployed_services(const machine::WritableFiles& files,
                                                   const std::string& state);

}  // namespace headroom::service
