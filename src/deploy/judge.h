// SPDX-License-Identifier: Apache-2.0
// The verdict on a candidate: everything that was seen of it, and the first cause that applies in
// the order that docs/deploy.md promises.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "deploy/answer.h"
#include "deploy/spec.h"
#include "findings/diagnosis.h"
#include "supervisor/growth.h"

namespace headroom::deploy {

// A process of the service that ended though nobody asked it to.
struct Death {
  int code = 0;  // 128 + signal where one ended it; below 0: a failure, and which is not known.
  std::optional<int> signal;
  bool main = true;  // Else a worker below it.
  std::string what;  // "photos-ml (pid 4711)"; for the timeline.

  bool operator==(const Death&) const = default;
};

// What was seen of the GPU between the start of the candidate and the end of its smoke test.
// Nothing: it could not be looked at, and `missing` says why.
struct GpuUse {
  std::optional<bool> on_kfd;      // A process of the service's own tree is one of KFD's.
  std::optional<Bytes> vram, gtt;  // What its processes hold more than before the smoke test …
  std::optional<std::uint64_t> busy_ms;  // … and how long they kept the GPU busy.
  std::vector<std::string> missing;
};

// Whether the GPU was really used: a process on KFD, and memory or work of it.
bool is_used(const GpuUse& use);

// What the log rules make of the service's log and the kernel's messages since the start.
struct LogVerdict {
  std::optional<findings::Cause> cause;  // Nothing where they name none ("none", no evidence).
  bool saw_death = false;                // The log tells of a process of the service that died.
};

// Everything that was seen of a candidate so far.
struct Seen {
  bool was_healthy = false;
  bool gave_up_health = false;  // The time for it is over.
  std::string unhealthy;        // What the last health request that was not answered well got.
  bool turned_bad = false;      // In the watch: answered, but not well, for watch.hang_s.
  bool hangs = false;           // In the watch: no answer for watch.hang_s.
  std::string hang;             // How that was seen.
  std::vector<Death> deaths;    // With a failure.
  bool down = false;            // It ended, and nothing starts it again.
  bool died_in_smoke = false;   // A death that a failed request tells of; none is borne there.
  std::uint64_t core_dumps = 0;
  std::uint64_t oom_kills = 0;  // By the memory limit of the service.
  std::optional<Bytes> memory, memory_peak, memory_limit;
  std::optional<supervisor::Growth> growth;
  std::vector<std::string> alarms;  // The kernel's messages that mean trouble with a GPU.
  std::optional<SmokeRun> baseline, smoke;
  std::optional<GpuUse> gpu;
  std::optional<LogVerdict> log;
};

// The first that applies; nothing where all is well so far. The confidence is that of the log
// rules, or what a measurement is worth.
std::optional<findings::Cause> judge(const ServiceSpec& spec, const Seen& seen);

// Whether the log should be read before judging: something has happened that it may explain.
bool needs_log(const ServiceSpec& spec, const Seen& seen);

// The median time of the baseline's requests over the candidate's; nothing where one is unknown.
std::optional<double> ratio(const Seen& seen);

}  // namespace headroom::deploy
