// SPDX-License-Identifier: Apache-2.0
// A plan for people: the verdict first, then what the peak consists of, then what would fit
// instead.
#pragma once

#include <string>

#include "estimate/models/architecture.h"
#include "estimate/plan.h"
#include "report/plan_advice.h"
#include "report/style.h"

namespace headroom::report {

std::string to_text(const estimate::Plan& plan, const estimate::Architecture& model,
                    const Style& style = {}, const SettingWords& words = {});

}  // namespace headroom::report
