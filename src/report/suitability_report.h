// SPDX-License-Identifier: Apache-2.0
// A GPU's suitability as JSON, and as the one or two lines under its heading.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "findings/suitability.h"
#include "report/style.h"

namespace headroom::report {

// `evidence` is that of the suitability, as the document writes evidence.
nlohmann::ordered_json suitability_json(const findings::Suitability& suitability,
                                        nlohmann::ordered_json evidence);

// Indented, each line ended. One line where the GPU is simply fine.
std::string suitability_lines(const findings::Suitability& suitability, const Style& style);

}  // namespace headroom::report
