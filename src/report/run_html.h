// SPDX-License-Identifier: Apache-2.0
// A training run as a page for a browser (report.html of headroom-train), in one file that needs no
// other and no network: loss, memory and speed over the steps, what was planned beside what was
// measured, what happened on the way, and the settings with those that were not taken. Its size
// does not grow with the run's.
#pragma once

#include <string>

#include "base/document_fwd.h"
#include "report/run_history.h"
#include "report/thinned_curve.h"

namespace headroom::report {

struct RunPicture {
  std::string name;    // Of the model.
  const Json& report;  // report.json: docs/schema/train.schema.json.
  const RunHistory& history;
  StepMarks checkpoints = {};  // Steps after which this process saved one.
  std::string ended = {};      // Why the run ended early; empty: it is finished.
  std::string next = {};       // What to do about that; empty: nothing is known.
};

std::string to_html(const RunPicture& picture);

}  // namespace headroom::report
