// SPDX-License-Identifier: Apache-2.0
// A history that is being read: what every reader of one has at hand, and how it says that
// something could not be read.
#pragma once

#include <string>

#include "facts/machine_history.h"
#include "knowledge/package_table.h"
#include "machine/files.h"

namespace headroom::probe {

class HistoryReading {
 public:
  HistoryReading(const machine::Files& from, const knowledge::PackageTable& packages)
      : files(from), table(packages) {}

  const machine::Files& files;
  const knowledge::PackageTable& table;

  // Keeps a change if its package matters.
  void add(facts::PackageChange change);
  // A history was read, or could not be; that it is not there is not worth a word.
  void note(facts::PackageManager manager, const std::string& path);
  // The same of a log, which tells nothing of the time before `since`.
  void note_log(facts::PackageManager manager, const std::string& path, std::string since);
  void note(facts::PackageManager manager, const std::string& path, const Error& error);
  void note(facts::PackageManager manager, const std::string& path, std::string why_not);

  // What was read, the oldest change first.
  facts::MachineHistory take(const std::string& now);

 private:
  facts::MachineHistory history_;
};

// Systems that are replaced as a whole: generations of NixOS, deployments of OSTree.
void read_generations(HistoryReading& reading);
// Modules that DKMS built.
void read_dkms(HistoryReading& reading);
// What headroom fix changed and is in force.
void read_own_changes(HistoryReading& reading);
// Images that Docker pulled.
void read_docker_images(HistoryReading& reading);
// Images that Podman pulled, for the superuser and for each user.
void read_podman_images(HistoryReading& reading);

}  // namespace headroom::probe
