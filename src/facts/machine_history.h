// SPDX-License-Identifier: Apache-2.0
// What was changed on a machine and when, as its package managers and folders tell it, and which of
// their histories could not be read. It has a form as text, so that a record of the machine keeps
// what was made of the logs instead of the logs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/package_history.h"

namespace headroom::facts {

// A history that was looked for.
struct HistorySource {
  PackageManager manager = PackageManager::apt;
  std::string path;
  std::string why_not;     // Empty: it was read.
  std::string since = {};  // The oldest moment that a log tells, of any package; empty: none.
  bool read() const { return why_not.empty(); }
};

struct MachineHistory {
  std::string now;  // The machine's own time, as in PackageChange; empty: not known.
  std::vector<HistorySource> sources;  // Without those that are not there.
  std::vector<PackageChange> changes;  // Of packages that matter, oldest first.
};

// One line per entry, its fields separated by tabs. What is no printable text in a field is left
// out.
std::string to_text(const MachineHistory& history);
// The same, the other way. Lines that make no sense are passed over.
MachineHistory parse_machine_history(std::string_view text);

}  // namespace headroom::facts
