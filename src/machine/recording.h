// SPDX-License-Identifier: Apache-2.0
// What was asked of a machine's files and what it answered: the record that Files keeps where its
// owner wants one. Written out as a folder with a MANIFEST.json it answers the same questions
// again, so whoever adds a reader adds it to every capture without saying so anywhere.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/document_fwd.h"
#include "base/error.h"

namespace headroom::machine {

// Paths have every link on their way followed and no slash in front: "sys/devices/…/vendor".
struct Recording {
  std::map<std::string, std::string> files;  // → its bytes.
  std::map<std::string, std::string> links;  // → what the link says.
  std::set<std::string> folders;             // Seen to be one.
  std::set<std::string> stand_ins;           // Seen to exist, and not read: a device node, a name.
  std::map<std::string, std::string> refused;  // Could not be read → "EACCES", or a sentence.
  // What no file holds and could not be answered (Files::ask): "may_use/dev/kfd" → why not.
  std::map<std::string, Error> unanswered;
};

// What a captured machine's MANIFEST.json says beside its files.
struct Manifest {
  // Path without a slash in front → "EPERM", or another text. From `read_errors`, which is either
  // {"sys/…": "EPERM", …}, or a list of paths, or a list of {"path", "error"}.
  std::map<std::string, std::string> refused;
  std::map<std::string, Error> unanswered;  // From `recorded`.
  // Written by a Recording: what is neither there nor in `refused` was not there. In a capture made
  // by hand, what lies below a path in `refused` was refused as well.
  bool complete = false;
};

// Other text is no error here: it yields nothing. Pure.
Manifest parse_manifest(std::string_view text);
// The same, the other way: {"read_errors": …, "recorded": …}.
Json to_manifest(const Recording& recording);

}  // namespace headroom::machine
