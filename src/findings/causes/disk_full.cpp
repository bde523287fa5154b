// SPDX-License-Identifier: Apache-2.0
// disk-full: some program reports ENOSPC. The message proves it but does not name the file system.
// The kernel returns the same error for shared memory and for file watches, which are other limits.
#include <fmt/format.h>

#include "base/text.h"
#include "findings/causes/causes.h"

namespace headroom::findings {
namespace {

using logs::Observation;

bool is_of_disks(const Observation& seen) {
  const std::string text = to_lower(seen.text);
  for (const std::string_view other :
       {"/dev/shm", "inotify", "file watch", "shared memory", "shmget", "sem_open", "cgroup"}) {
    if (text.find(other) != std::string::npos) return false;
  }
  return true;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const Observation* full = nullptr;
  for (const Observation* seen : subject.log.of("no-space")) {
    if (full == nullptr && is_of_disks(*seen)) full = seen;
  }
  if (full == nullptr) return std::nullopt;
  const bool quota = to_lower(full->text).find("quota") != std::string::npos;
  Hypothesis disk;
  disk.confidence = confidence::proven;
  disk.title = quota ? "The user's share of the disk is used up" : "The disk is full";
  disk.reasons.emplace_back(
      quota ? "A write failed because the quota is reached; nothing here is about the GPU."
            : "A write failed for want of space (ENOSPC); nothing here is about the GPU.");
  disk.evidence.push_back(show(subject, *full));
  disk.fix = {
      sentence(quota ? "see the quota: quota -s; or ask who runs the file system"
                     : "see which file system is full: df -h; and inodes: df -i"),
      sentence(
          "what usually fills it: pip cache purge; docker system df; du -sh ~/.cache/huggingface"),
      sentence("a full /tmp alone: TMPDIR=/path/with/space pip install …")};
  return disk;
}

}  // namespace

constinit const CauseRule disk_full_cause = {
    .id = "disk-full",
    .meaning = "No space is left on the device that a program writes to.",
    .why = "Wheels for ROCm take several GiB, images tens of GiB, and pip unpacks in /tmp first.",
    .fix = "Free space, or point the cache and TMPDIR to a larger file system.",
    .explains =
        "missing-library crash-loop framework-bug app-bug miopen-db "
        "python-version-unsupported",
    .any_vendor = true,
    .find = find,
};

}  // namespace headroom::findings
