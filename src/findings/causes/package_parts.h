// SPDX-License-Identifier: Apache-2.0
// A program or a package without all of its own parts. For the rule missing-library.
#pragma once

#include <optional>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// A package's own __init__.py does not find a module of the same package: files are missing.
std::optional<Hypothesis> find_torn_package(const LogSubject& subject);

// On Windows a program ends at once and prints nothing, not even its usage: it was never started,
// because a DLL that it needs is missing.
std::optional<Hypothesis> find_silent_end(const LogSubject& subject);

}  // namespace headroom::findings
