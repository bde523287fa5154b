// SPDX-License-Identifier: Apache-2.0
// Who refused code for a GPU, and whether anybody did: read off the line and its neighbours.
#pragma once

#include <string>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// Whether a person says that it is not this error: "this is not hipErrorInvalidDeviceFunction".
bool is_denied(const logs::Observation& seen);

// The target for which a compiler refused code: the one that it names next, or else the last one
// before. Empty if it names none.
std::string compiled_target(const LogSubject& subject, const logs::Observation& seen);

}  // namespace headroom::findings
