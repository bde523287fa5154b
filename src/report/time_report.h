// SPDX-License-Identifier: Apache-2.0
// How long a job will take, below its plan, and what a calibration has measured: as text and as
// JSON (docs/schema).
#pragma once

#include <optional>
#include <string>

#include "base/document_fwd.h"
#include "estimate/calibration.h"
#include "estimate/step_time.h"
#include "report/style.h"

namespace headroom::report {

// What is known of how long a job takes.
struct JobTime {
  std::optional<estimate::TimeEstimate> estimate;
  bool concerns = false;  // The job is one whose time can be predicted.
  std::string missing;    // Why there is no estimate,
  std::string next;       // and the command that gets one; empty: none does.
  std::string missing_epoch;
};

// "0.83 s", "12 min", "5.2 hours", "11 days", "more than a year": with as much precision as
// anybody could predict. Requires: seconds >= 0.
std::string time_to_text(double seconds);

// Lines to stand below a plan; one where nothing is known; empty where the job is no concern.
std::string to_text(const JobTime& time, const Style& style);
// The key "time" of headroom.plan/1; null where nothing is known. Adds to `missing` why.
Json to_json(const JobTime& time, Json& missing);

// headroom test --calibrate. `path`: where it was saved.
std::string calibration_to_text(const estimate::Calibration& calibration, const std::string& path,
                                const Style& style);
Json calibration_to_json(const estimate::Calibration& calibration, const std::string& path);

}  // namespace headroom::report
