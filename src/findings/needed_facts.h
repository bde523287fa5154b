// SPDX-License-Identifier: Apache-2.0
// What has to be known of a GPU before it can be called sound: the facts that the rules start from
// wherever there is a GPU (not software, which may simply not be installed). A rule that lacks one
// of them stays silent, and silence is not health.
#pragma once

#include <optional>

#include "facts/facts.h"
#include "findings/finding.h"

namespace headroom::findings {

// The first of them that could not be read, as evidence; nothing where all are known, or are said
// not to apply (a GPU that sleeps, a partition, a prediction).
std::optional<Evidence> find_needed_missing(const facts::Facts& facts, const facts::Gpu& gpu);

}  // namespace headroom::findings
