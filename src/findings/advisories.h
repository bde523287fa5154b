// SPDX-License-Identifier: Apache-2.0
// Finds which known-bad combinations (data/advisories.toml) a machine's GPU is in, and reports
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "findings/rules.h"

namespace headroom::findings {

struct AdvisoryMatch {
  const knowledge::Advisory* advisory = nullptr;
  bool certain = true;  // False if the kernel may have the change that makes it harmless.
  std::vector<std::string> reasons;
  std::vector<Evidence> evidence;
};

// How a condition on the kernel counts if it is not known which kernel runs. For a log that shows a
// failure it stays open, and the match is not certain.
enum class UnknownKernel { not_met, open };

// Returns the matches, the worst first. A condition on an unknown fact counts as not met; only if
// it is unknown whether the kernel has a change is that a match, which is not certain.
std::vector<AdvisoryMatch> match_advisories(const Subject& subject, const facts::Gpu& gpu,
                                            UnknownKernel unknown = UnknownKernel::not_met);

// Makes the findings of one kind of advisory ("kernel", "rocm" or "firmware"), under `id` unless
// the advisory names a root cause. Notes make no findings.
std::vector<Finding> find_advisories(const Subject& subject, std::string_view about,
                                     const std::string& id);

}  // namespace headroom::findings
