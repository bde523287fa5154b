// SPDX-License-Identifier: Apache-2.0
// One step of `headroom test`, as all of its reports show it.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "proof/step.h"

namespace headroom::report {

// "ok", "FAILED", "skipped".
std::string word_of(const proof::StepResult& step);
// "0.00031", "18.9 TFLOP/s", "1205 MB/s": three digits tell enough. Empty: it measured nothing.
std::string figure_of(const proof::StepResult& step);
nlohmann::ordered_json step_result_json(const proof::StepResult& step);

}  // namespace headroom::report
