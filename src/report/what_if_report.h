// SPDX-License-Identifier: Apache-2.0
// `headroom check --if`: the ladder now beside the ladder after a reboot, how it follows, and what
// check would then say.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "facts/what_if.h"
#include "findings/diagnosis.h"
#include "report/style.h"

namespace headroom::report {

struct WhatIfAnswer {
  facts::WhatIf change;
  facts::Prediction prediction;
  findings::Diagnosis diagnosis;  // Of the machine as it would be.
  std::string root = "/";         // Where that machine was captured.
};

std::string to_text(const facts::Facts& now, const WhatIfAnswer& answer, const Style& style);
// Its first line alone: the verdict, and what each kind of GPU could use.
std::string verdict_text(const facts::Facts& now, const WhatIfAnswer& answer, const Style& style);
// The value of `what_if` in headroom.check/1.
nlohmann::ordered_json to_json(const WhatIfAnswer& answer);

}  // namespace headroom::report
