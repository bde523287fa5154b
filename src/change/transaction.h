// SPDX-License-Identifier: Apache-2.0
// Runs steps of a record as one transaction: saves what they touch, writes the journal, does them
// one by one and notes what each left. The journal is always ahead of the machine.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "change/carry_out.h"
#include "change/journal.h"
#include "plan/record.h"

namespace headroom::change {

// Which steps: [from, to) as step_at() counts them.
struct StepRange {
  std::size_t from = 0;
  std::size_t to = 0;
};

// Everything that can be known to be in the way, with nothing touched: files changed since
// planning, programs or rights that are missing, no room for the originals. With `resuming` steps
// that are done already are as good.
Status check_ready(const Doors& doors, const Journal& journal, const plan::Change& change,
                   StepRange range, bool resuming);

// Adds to the record every path that these steps may touch and that it does not name yet, and keeps
// their originals. The machine is not touched; the record is not saved.
Status keep_originals(const Doors& doors, Journal& journal, plan::Record& record, StepRange range);

// Does the steps from record.steps_done to range.to, and saves the record around each. On an error
// the record says how far it came, if that could be written.
Status carry_out_all(const Doors& doors, Journal& journal, plan::Record& record, StepRange range);

}  // namespace headroom::change
