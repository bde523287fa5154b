// SPDX-License-Identifier: Apache-2.0
// What a crash or a hang looks like in logs, whatever brought it about: several causes begin with
// the same lines, and each asks for them here.
#pragma once

#include <string>

#include "findings/advisories.h"
#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// Each the first line of its kind, or nullptr.
struct CrashSigns {
  const logs::Observation* stopped = nullptr;    // Driver or runtime: the GPU makes no progress.
  const logs::Observation* scheduler = nullptr;  // Its scheduler firmware no longer answers.
  const logs::Observation* fault = nullptr;      // A kernel used an address it may not use.
  const logs::Observation* died = nullptr;       // A process was ended by a signal.

  // The GPU's own trouble, the first in the log; nullptr if there is none.
  const logs::Observation* of_gpu() const;
};

CrashSigns find_crash_signs(const logs::Observations& log);

// "gfx1151 (Radeon 8060S)", or "the GPU".
std::string gpu_of(const Scene& scene);
// The same where a sentence begins.
std::string gpu_at_start(const Scene& scene);

// The ROCm that a job ran with: the wheel's own, else the system's.
const facts::Text& rocm_of(const Scene& scene);

// Known-bad combinations ("firmware" or "rocm") that the log's machine is in; notes are none. A
// condition on the kernel stays open where no kernel is known. The worst first.
// With `assumed`, as if that firmware were in it.
std::vector<AdvisoryMatch> match_advisories(const LogSubject& subject, std::string_view about,
                                            const knowledge::FirmwareCondition* assumed = nullptr);

// Whether the table knows any combination of that kind for a GPU of the scene.
bool has_advisories(const LogSubject& subject, std::string_view about);

// The lines of these kinds as evidence, at most `most` in all, in the order of the log.
void show_some(const LogSubject& subject, std::initializer_list<std::string_view> ids,
               std::size_t most, Hypothesis& hypothesis);

}  // namespace headroom::findings
