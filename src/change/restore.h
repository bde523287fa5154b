// SPDX-License-Identifier: Apache-2.0
// The way back, decided before anything is touched: for every path of a record whether it is as it
// was, can be restored, was made anew by somebody's tool since, or was edited by somebody else.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "change/carry_out.h"
#include "change/journal.h"
#include "plan/record.h"

namespace headroom::change {

enum class Fate {
  as_before,  // Nothing to do.
  restore,    // Ours: the original comes back.
  made_anew,  // Generated, and generated again since: stays, and its command runs.
  edited,     // Somebody else changed it: undo refuses.
};

struct PathFate {
  const plan::Touched* touched = nullptr;
  Fate fate = Fate::as_before;
  std::string difference;  // Of `edited`: what changed since, as a unified diff or a sentence.
};

// In the order of record.touched. `record` must outlive the answer.
Result<std::vector<PathFate>> decide(const Doors& doors, const Journal& journal,
                                     const plan::Record& record);

// Brings one path back to what it was before the change, whatever is there.
Status restore(const Doors& doors, const Journal& journal, const plan::Record& record,
               const plan::Touched& touched);

}  // namespace headroom::change
