// SPDX-License-Identifier: Apache-2.0
// Why a step of `headroom test` or `headroom try` failed, as both show it.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "proof/step.h"
#include "report/style.h"

namespace headroom::report {

nlohmann::ordered_json step_cause_json(const proof::StepCause& cause);
// As `headroom check --log` shows a cause; `step` stands in front of its title.
std::string step_cause_text(const std::string& step, const proof::StepCause& cause,
                            const Style& style);

}  // namespace headroom::report
