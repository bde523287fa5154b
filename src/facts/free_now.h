// SPDX-License-Identifier: Apache-2.0
// What a job that starts now can take of a GPU's memory, by the ladder.
#pragma once

#include <optional>
#include <string>

#include "facts/ladder.h"

namespace headroom::facts {

struct FreeNow {
  Bytes bytes;
  std::string rung;  // That leaves the least; the binding one where several leave the same.
};

// The least that any rung on the job's way leaves: its limit less what is in use of it, or what it
// calls free. A rung whose use is not known does not count, unless it is the binding one: then
// nothing is known.
std::optional<FreeNow> find_free_now(const Ladder& ladder);

}  // namespace headroom::facts
