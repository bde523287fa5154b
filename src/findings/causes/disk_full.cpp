// SPDX-License-Identifier: Apache-2.0
// disk-full: some program reports ENOSPC. The message proves it but does not name the file system.
// The kernel returns the same error for shared memory, for file watches, and for address space that
// a device's window does not find, which are other limits.
#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "findings/causes/causes.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// Whether a driver of a device on the PCI bus says it: of its own memory or its windows. A disk's
// controller does not know how full the file system is.
bool is_of_pci(const Observation& seen) {
  static const RE2 words(
      R"((?i)\b[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d\b|\[drm\b|\bresiz\w+ BAR|\bBAR ?\d|bridge window)");
  return RE2::PartialMatch(seen.text, words);
}

bool is_of_disks(const Observation& seen) {
  if (is_of_pci(seen)) return false;
  const std::string text = to_lower(seen.text);
  for (const std::string_view other :
       {"/dev/shm", "posix_fallocate", "inotify", "file watch", "shared memory", "shmget",
        "sem_open", "cgroup", "epoll", "keyring"}) {
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
      quota ? "A write failed because the quota is reached. The GPU is not involved."
            : "A write failed because there was no space left (ENOSPC). The GPU is not involved.");
  disk.evidence.push_back(show(subject, *full));
  disk.fix = {
      sentence(quota ? "See the quota with quota -s, or ask whoever runs the file system."
                     : "See which file system is full, or out of inodes: df -h; df -i"),
      sentence("Clean up what usually fills it: pip cache purge; docker system df; du -sh "
               "~/.cache/huggingface"),
      sentence("If only /tmp is full, use another folder: TMPDIR=/path/with/space pip install …")};
  return disk;
}

}  // namespace

constinit const CauseRule disk_full_cause = {
    .id = "disk-full",
    .meaning = "No space is left on the device that a program writes to.",
    .why = "Wheels for ROCm take several GiB, images tens of GiB, and pip unpacks in /tmp first.",
    .fix = "Free some space, or point the cache and TMPDIR to a larger file system.",
    .explains =
        "missing-library crash-loop framework-bug app-bug miopen-db "
        "python-version-unsupported",
    .any_vendor = true,
    .find = find,
};

}  // namespace headroom::findings
