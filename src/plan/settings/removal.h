// SPDX-License-Identifier: Apache-2.0
// Takes settings out of every file that they hide in. Which ones go is the audit's word
// (findings/knob_audit.h); this finds where they stand, edits what is the owner's to edit, and says
// what is left to a person.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "findings/knob_audit.h"
#include "plan/fix.h"
#include "plan/settings/setting_lines.h"

namespace headroom::plan {

// What to do with a setting that the audit has judged.
using Decision = std::function<PlaceRewrite(const findings::Judgement&)>;

// The steps that carry the decision out on all setting files, and what is left to say: fills in
// steps, notes and warnings of a Change. True if a step does anything by itself.
bool plan_removal(const FixSubject& subject, const Decision& decide, Change& change);

// The value that a setting gets where it is written with a default or takes it from a .env file
// beside: "${X:-10.3.0}" → "10.3.0"; nothing where it cannot be told from the files.
std::optional<std::string> expand_value(const std::string& value,
                                        const std::vector<SettingPlace>& beside);

}  // namespace headroom::plan
