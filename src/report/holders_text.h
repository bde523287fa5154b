// SPDX-License-Identifier: Apache-2.0
// Who holds a GPU's memory, as a table whose rows add up to what the driver counts.
#pragma once

#include <string>

#include "facts/facts.h"
#include "report/style.h"

namespace headroom::report {

// Empty where neither a holder nor the driver's counter is known.
std::string holders_table(const facts::Gpu& gpu, const Style& style);

}  // namespace headroom::report
