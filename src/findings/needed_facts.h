// SPDX-License-Identifier: Apache-2.0
// The facts that must be known about a GPU before it can be called sound: those that the rules need
// wherever there is a GPU (not software, which may simply not be installed). A rule that lacks such
// a fact stays silent, which must not be taken for health.
#pragma once

#include <optional>

#include "facts/facts.h"
#include "findings/finding.h"

namespace headroom::findings {

// Returns the first of these facts that could not be read, as evidence; nothing if each is known or
// does not apply (for a sleeping GPU, a partition or a prediction).
std::optional<Evidence> find_needed_missing(const facts::Facts& facts, const facts::Gpu& gpu);

}  // namespace headroom::findings
