// SPDX-License-Identifier: Apache-2.0
// What became of tuning a service: for programs, and for the person at the terminal.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "report/style.h"
#include "tune/outcome.h"

namespace headroom::report {

// headroom.tune/1 (docs/schema/tune.schema.json).
nlohmann::ordered_json to_json(const tune::TuneReport& report);
std::string to_text(const tune::TuneReport& report, const Style& style);

// How the worth of a GPU was calculated, a line each.
std::vector<std::string> arithmetic_of(const tune::Worth& worth);

}  // namespace headroom::report
