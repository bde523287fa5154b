// SPDX-License-Identifier: Apache-2.0
// One step of `headroom test`, as all of its reports show it.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "proof/step.h"
#include "report/style.h"

namespace headroom::report {

// "ok", "FAILED", "skipped".
std::string word_of(const proof::StepResult& step);
// "0.00031", "18.9 TFLOP/s", "1205 MB/s": three digits tell enough. Empty: it measured nothing.
std::string figure_of(const proof::StepResult& step);
// A step's line of a table: red if it failed, dim if it was skipped; nullptr is the heading.
std::string painted_line(const std::string& line, const proof::StepResult* step,
                         const Style& style);
nlohmann::ordered_json step_result_json(const proof::StepResult& step);

}  // namespace headroom::report
