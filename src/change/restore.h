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
  gone,       // A loader entry that went with its kernel: stays away.
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

// Fails where an original that will be needed is missing or not what was saved.
Status check_originals(const Doors& doors, const Journal& journal, const plan::Record& record,
                       const std::vector<PathFate>& fates);

// Whether it was written since this machine started, and the change was under way before that.
bool is_later(const Doors& doors, const std::optional<FileEntry>& entry);

// Brings one path back to what it was before the change, whatever is there.
Status restore(const Doors& doors, const Journal& journal, const plan::Record& record,
               const plan::Touched& touched);

}  // namespace headroom::change
