// SPDX-License-Identifier: Apache-2.0
// Which known-bad combinations (data/advisories.toml) a machine's GPU is in, and what is said of
// it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "findings/rules.h"

namespace headroom::findings {

struct AdvisoryMatch {
  const knowledge::Advisory* advisory = nullptr;
  bool certain = true;  // False: the kernel may have the change that makes it harmless.
  std::vector<std::string> reasons;
  std::vector<Evidence> evidence;
};

// What becomes of a condition on the kernel where it is not known which one runs. A log that shows
// a failure leaves it open: the match is then not certain.
enum class UnknownKernel { not_met, open };

// The worst first. A condition whose fact is not known counts as not met, except whether the
// kernel has a change: that is a match that is not certain.
std::vector<AdvisoryMatch> match_advisories(const Subject& subject, const facts::Gpu& gpu,
                                            UnknownKernel unknown = UnknownKernel::not_met);

// The findings of one kind of advisory ("kernel", "rocm" or "firmware"), under `id` unless it is a
// root cause. Notes make none.
std::vector<Finding> find_advisories(const Subject& subject, std::string_view about,
                                     const std::string& id);

}  // namespace headroom::findings
