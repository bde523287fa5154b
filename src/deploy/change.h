// SPDX-License-Identifier: Apache-2.0
// The change of a deployment as the change engine takes it: the files before and after, with what
// each edit is for. A value; nothing here reads or writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/edit.h"
#include "deploy/spec.h"
#include "plan/change.h"

namespace headroom::deploy {

// One [[change]] with the texts that it is about.
struct ChangeInput {
  FileChange change;
  std::string path;                        // Of the file to be changed, absolute.
  std::optional<std::string> before;       // nullopt: there is no such file.
  std::optional<std::string> replacement;  // The text of `with`.
  std::string podman_version;              // For a quadlet; may be empty.
};

// Fails with what edit_text() fails with, with not_found where a setting is to go into a file that
// is not there, and with invalid where nothing would change at all. Several changes of one file are
// made one after the other. `words`: the command line without --apply.
Result<plan::Change> make_change(const ServiceSpec& spec, const std::vector<ChangeInput>& inputs,
                                 std::vector<std::string> words);

}  // namespace headroom::deploy
