// SPDX-License-Identifier: Apache-2.0
// disk-full: ENOSPC, by whoever meets it first. The message is the proof; which file system it was
// is not in it.
#include "findings/causes/causes.h"

namespace headroom::findings {
namespace {

std::optional<Hypothesis> find(const LogSubject& subject) {
  const logs::Observation* full = subject.log.first("no-space");
  if (full == nullptr) return std::nullopt;
  Hypothesis disk;
  disk.confidence = confidence::proven;
  disk.title = "The disk is full";
  disk.reasons.emplace_back(
      "A write failed for want of space (ENOSPC); nothing here is about the GPU.");
  disk.evidence.push_back(show(subject, *full));
  disk.fix = {
      "see which file system is full: df -h; and inodes: df -i",
      "what usually fills it: pip cache purge; docker system df; du -sh ~/.cache/huggingface",
      "a full /tmp alone: TMPDIR=/path/with/space pip install …",
  };
  return disk;
}

}  // namespace

constinit const CauseRule disk_full_cause = {
    .id = "disk-full",
    .meaning = "No space is left on the device that a program writes to.",
    .why = "Wheels for ROCm take several GiB, images tens of GiB, and pip unpacks in /tmp first.",
    .fix = "Free space, or point the cache and TMPDIR to a larger file system.",
    .explains = "missing-library crash-loop framework-bug app-bug miopen-db",
    .any_vendor = true,
    .find = find,
};

}  // namespace headroom::findings
