// SPDX-License-Identifier: Apache-2.0
// The knob audit for people: every setting with its line, what it does, whether it helps here and
// what to do with it; at the end the settings as they should be, to paste. And the reference page
// that is generated from the table of knobs.
#pragma once

#include <string>
#include <vector>

#include "base/document_fwd.h"
#include "facts/facts.h"
#include "findings/knob_audit.h"
#include "knowledge/knobs.h"
#include "report/style.h"

namespace headroom::report {

// One of them at least is a setting of a GPU's software.
bool has_gpu_settings(const std::vector<findings::Judgement>& judged);

// `name` is the file's, "-" standard input.
std::string environment_text(const std::string& name, const facts::Facts& facts,
                             const std::vector<findings::Judgement>& judged, const Style& style);

// The last line of it alone: "8 settings: 1 keep, 2 no effect, …".
std::string environment_tally(const std::vector<findings::Judgement>& judged);

// The judgements as the array `environment` of `check --json`. The value of what is no GPU setting
// is null: it may be a secret.
nlohmann::ordered_json environment_json(const std::vector<findings::Judgement>& judged);

// docs/knobs.md.
std::string knobs_page(const knowledge::KnobTable& knobs);

}  // namespace headroom::report
