// SPDX-License-Identifier: Apache-2.0
// The ways in which a log shows two releases of ROCm in one process, or a build for another one
// than is there: by libraries, by symbols, by the builds of programs. For the rule
// rocm-version-mismatch.
#pragma once

#include <optional>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// Makes a hypothesis with this line as its evidence and the steps that fit each of them.
Hypothesis make_mismatch(const LogSubject& subject, const logs::Observation& seen);

// The releases of ROCm that are known to be there: the system's and PyTorch's.
std::vector<facts::Text> releases_there(const Scene& scene);

// Each finds the surest hypothesis of its kind, or nothing.
std::optional<Hypothesis> find_mismatched_library(const LogSubject& subject);
std::optional<Hypothesis> find_mismatched_symbol(const LogSubject& subject);
std::optional<Hypothesis> find_mismatched_build(const LogSubject& subject);

// A program brings a ROCm runtime of its own, which fails where the system's works.
std::optional<Hypothesis> find_bundled_runtime(const LogSubject& subject);

// A program for Windows loads the runtime of ROCm 5 by its name, beside a later ROCm.
std::optional<Hypothesis> find_older_dll(const LogSubject& subject);

// Puts `one` into the place of `best` if it is surer.
void take_surer(std::optional<Hypothesis> one, std::optional<Hypothesis>& best);

}  // namespace headroom::findings
