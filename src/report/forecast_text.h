// SPDX-License-Identifier: Apache-2.0
// What a change is expected to bring: the limits now beside those after the reboot.
#pragma once

#include <string>

#include "facts/facts.h"
#include "plan/change.h"
#include "report/style.h"

namespace headroom::report {

// Begins with an empty line; empty where nothing is predicted.
std::string forecast_text(const plan::Forecast& forecast, const facts::Facts& now,
                          const Style& style);

}  // namespace headroom::report
