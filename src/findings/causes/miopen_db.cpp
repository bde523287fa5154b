// SPDX-License-Identifier: Apache-2.0
// miopen-db: MIOpen stores tuned and compiled kernels in SQLite files under the home folder. If
// these cannot be written or locked, convolutions fail, or are tuned again each time.
#include <fmt/format.h>

#include "base/text.h"
#include "findings/causes/causes.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

std::string reason_of(const Observation& seen) {
  const std::string text = to_lower(seen.text);
  const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  if (has("permission denied") || has("not permitted") || has("cannot create director")) {
    return "The user that runs the job may not write there. In containers the home folder often "
           "belongs to another user.";
  }
  if (has("read-only") || has("readonly")) return "The file system or the file is read-only.";
  if (has("malformed")) {
    return "The database is damaged: several jobs wrote to it at the same time, or one was killed.";
  }
  if (has("lock") || has("disk i/o") || has("protocol")) {
    return "SQLite cannot lock the file. This happens on network file systems (NFS, Lustre) with "
           "several jobs.";
  }
  return "The folder does not exist, is not writable, or is on a file system without locks.";
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const Observation* seen = subject.log.first_of({"miopen-cache-denied", "miopen-database"});
  if (seen == nullptr) return std::nullopt;
  const Observation* failed = subject.log.first("miopen-status");
  const bool warning = seen->text.find("Warning") != std::string::npos;
  const bool works = subject.log.first_with(knowledge::Role::progress) != nullptr;
  Hypothesis database;
  database.confidence = failed != nullptr ? 0.93 : !warning ? 0.86 : works ? 0.3 : 0.6;
  database.title = "MIOpen cannot use its database in the home folder";
  database.reasons = {reason_of(*seen)};
  if (failed != nullptr) {
    database.reasons.emplace_back("The next convolution failed because of that.");
  }
  database.evidence.push_back(show(subject, *seen, logs::describe(*seen)));
  if (failed != nullptr) database.evidence.push_back(show(subject, *failed));
  database.fix = {
      sentence_with("See who owns the folders, and on which file system they are",
                    "ls -ld ~ ~/.cache/miopen ~/.config/miopen; df -T ~"),
      command("mkdir -p /tmp/miopen-$USER", "(a local folder; on clusters one per job)"),
      command(
          "export MIOPEN_USER_DB_PATH=/tmp/miopen-$USER MIOPEN_CUSTOM_CACHE_DIR=/tmp/miopen-$USER"),
      sentence_with("Delete a damaged database; MIOpen creates it again",
                    "rm -r ~/.cache/miopen ~/.config/miopen")};
  database.alternatives = {{"disk-full", 0.1, "df -h ~; df -i ~"}};
  return database;
}

}  // namespace

constinit const CauseRule miopen_db_cause = {
    .id = "miopen-db",
    .meaning = "MIOpen's database or cache cannot be opened, locked or written.",
    .why =
        "It is in the home folder. In containers and on clusters that folder may be read-only, "
        "belong to another user, or be on a network file system.",
    .fix = "Point MIOPEN_USER_DB_PATH and MIOPEN_CUSTOM_CACHE_DIR to a local, writable folder.",
    .explains = "app-bug framework-bug crash-loop device-permission",
    .find = find,
};

}  // namespace headroom::findings
