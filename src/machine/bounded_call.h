// SPDX-License-Identifier: Apache-2.0
// A call that may never come back, such as a write that the kernel answers with a stuck driver:
// made by a child process, which can be left behind where we cannot.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace headroom::machine {

// What `call` returns in a child process of ours, or busy where it has not returned by then: the
// child and what it started are killed, if anything still can, and left behind. `doing` names it in
// that error. Requires: this process has one thread.
Status call_bounded(const std::function<Status()>& call, std::uint64_t timeout_ms,
                    const std::string& doing);

}  // namespace headroom::machine
