// SPDX-License-Identifier: Apache-2.0
// Settings as the audit works on them: an allocator's variable taken apart into its options, each
// with its row and with the group of settings that it meets.
#pragma once

#include <vector>

#include "findings/knob_audit.h"
#include "knowledge/knobs.h"

namespace headroom::findings {

// One setting, or one option of an allocator's variable, on its way to a judgement.
struct KnobItem {
  Judgement judged;
  const knowledge::Knob* row = nullptr;      // As it is written; nullptr: no row has the name.
  const knowledge::Knob* meaning = nullptr;  // The row that says what holds.
  std::size_t group = 0;                     // What meets in one program, or in one driver.
};

// In the order given; the options follow their variable. The rows are the table's.
std::vector<KnobItem> make_knob_items(const std::vector<facts::Setting>& settings,
                                      const knowledge::KnobTable& knobs);

}  // namespace headroom::findings
