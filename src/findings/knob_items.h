// SPDX-License-Identifier: Apache-2.0
// Settings as the audit works on them. The variable of an allocator is split into its options, and
// each has its row and the group of settings that act together with it.
#pragma once

#include <string>
#include <vector>

#include "findings/knob_audit.h"
#include "knowledge/knobs.h"

namespace headroom::findings {

// One setting, or one option of an allocator's variable, that is to be judged.
struct KnobItem {
  Judgement judged;
  const knowledge::Knob* row = nullptr;  // The row with this name; nullptr if there is none.
  // The row that applies: its own, or the one that its row stands for.
  const knowledge::Knob* meaning = nullptr;
  std::size_t group = 0;  // Settings of one group reach the same program, or the same driver.
};

inline bool is_concluded(const KnobItem& item) {
  return item.judged.verdict != KnobVerdict::keep;
}
void conclude(KnobItem& item, KnobVerdict verdict, std::string why, std::string advice = "");
// Whether the item has any effect with which another could interfere.
bool is_active(const KnobItem& item);

// Makes the items in the order given, with options after their variable. The table owns the rows.
std::vector<KnobItem> make_knob_items(const std::vector<facts::Setting>& settings,
                                      const knowledge::KnobTable& knobs);

}  // namespace headroom::findings
