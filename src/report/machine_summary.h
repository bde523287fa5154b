// SPDX-License-Identifier: Apache-2.0
// What `headroom check` says first of a machine, in one sentence.
#pragma once

#include <string>

#include "facts/facts.h"
#include "findings/diagnosis.h"

namespace headroom::report {

// The cause's title, or how much memory each GPU can use and on what condition; without a full
// stop.
std::string machine_summary(const facts::Facts& facts, const findings::Diagnosis& diagnosis);

// What a job needs besides the mended cause: "; it needs another kernel too". Empty: nothing.
std::string also_needed(const findings::Diagnosis& diagnosis);

// " (2 warnings)", besides the cause; empty where there are none. They make the exit code 1.
std::string count_of_warnings(const findings::Diagnosis& diagnosis);

}  // namespace headroom::report
