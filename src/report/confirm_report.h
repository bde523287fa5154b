// SPDX-License-Identifier: Apache-2.0
// What the reboot brought, and what became of the change for it: `headroom confirm`.
#pragma once

#include <string>
#include <vector>

#include "plan/forecast.h"
#include "plan/record.h"
#include "report/style.h"

namespace headroom::report {

struct Confirmation {
  plan::Record record;  // As it is now: confirmed, mismatched or undone.
  plan::Comparison comparison;
  bool fell_back = false;          // The machine came up on the old entry of the boot menu.
  bool confirmed_before = false;   // By the unit, as a rule; compared once more.
  std::vector<std::string> notes;  // Of undo.
};

std::string to_text(const Confirmation& answer, const Style& style);
std::string to_json_text(const Confirmation& answer);  // Schema headroom.confirm/1.
// One sentence, for the journal: "confirmed: every limit is as predicted".
std::string summary(const plan::Comparison& comparison);

}  // namespace headroom::report
