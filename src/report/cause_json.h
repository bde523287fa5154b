// SPDX-License-Identifier: Apache-2.0
// The parts of headroom.check/1 that are the same whether a machine or a log was looked at.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "findings/diagnosis.h"

namespace headroom::report {

nlohmann::ordered_json evidence_json(const std::vector<findings::Evidence>& evidence);
nlohmann::ordered_json cause_json(const findings::Cause& cause);
nlohmann::ordered_json runners_up_json(const std::vector<findings::Alternative>& runners_up);

}  // namespace headroom::report
