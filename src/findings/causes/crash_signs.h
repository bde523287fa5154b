// SPDX-License-Identifier: Apache-2.0
// Finds signs of a crash or a hang in logs, whatever caused it. Several causes begin with the same
// lines, so their rules share this.
#pragma once

#include <string>

#include "findings/advisories.h"
#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// Each is the first line of its kind, or nullptr.
struct CrashSigns {
  const logs::Observation* stopped = nullptr;  // The driver or runtime says that the GPU is stuck.
  const logs::Observation* scheduler = nullptr;  // Its scheduler firmware no longer answers.
  const logs::Observation* fault = nullptr;      // A kernel used an address it may not use.
  const logs::Observation* died = nullptr;       // A signal ended a process.

  // The first line about the GPU's own failure; nullptr if there is none.
  const logs::Observation* of_gpu() const;
};

CrashSigns find_crash_signs(const logs::Observations& log);

// "gfx1151 (Radeon 8060S)", or "the GPU".
std::string gpu_of(const Scene& scene);
// The same for the beginning of a sentence.
std::string gpu_at_start(const Scene& scene);

// The ROCm that a job ran with: the wheel's own, else the system's.
const facts::Text& rocm_of(const Scene& scene);

// Finds the known-bad combinations of one kind ("firmware" or "rocm") that the log's machine is in,
// without notes, the worst first. A condition on the kernel stays open if the kernel is not known.
// With `assumed`, the machine is taken to have that firmware.
std::vector<AdvisoryMatch> match_advisories(const LogSubject& subject, std::string_view about,
                                            const knowledge::FirmwareCondition* assumed = nullptr);

// Whether the table has any combination of that kind for a GPU of the scene.
bool has_advisories(const LogSubject& subject, std::string_view about);

// Adds lines of these kinds as evidence, at most `most` in all, in the order of the log.
void show_some(const LogSubject& subject, std::initializer_list<std::string_view> ids,
               std::size_t most, Hypothesis& hypothesis);

}  // namespace headroom::findings
