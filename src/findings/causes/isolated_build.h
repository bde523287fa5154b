// SPDX-License-Identifier: Apache-2.0
// A package's build that does not see the packages which are installed: pip and uv build in an
// environment of its own (PEP 517).
#pragma once

#include <optional>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// Nothing if the missing module was not looked for by such a build, or is the user's own.
std::optional<Hypothesis> find_hidden_by_build(const LogSubject& subject,
                                               const logs::Observation& seen);

}  // namespace headroom::findings
