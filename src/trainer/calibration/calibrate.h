// SPDX-License-Identifier: Apache-2.0
// Measures how fast this trainer is here, in about a minute: its operations one by one, then whole
// steps (estimate/calibration.h says what becomes of them). Writes nothing.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "estimate/calibration.h"

namespace headroom::trainer::calibration {

struct CalibrationRequest {
  double rates_s = 30;                               // How long operations are measured,
  double steps_s = 25;                               // and whole steps.
  std::function<void(const std::string&)> on_stage;  // Says what is measured now.
  std::function<bool()> wants_stop;                  // Asked several times a second.
};

// With the threads that training here would have. Fails where other programs leave too little of
// the processors, where there is not enough memory (about 600 MiB), and if it was stopped.
Result<estimate::Calibration> calibrate(const CalibrationRequest& request);

}  // namespace headroom::trainer::calibration
