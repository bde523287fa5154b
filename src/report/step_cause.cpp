// SPDX-License-Identifier: Apache-2.0
#include "report/step_cause.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "report/cause_json.h"
#include "report/cause_text.h"

namespace headroom::report {

nlohmann::ordered_json step_cause_json(const proof::StepCause& cause) {
  return {{"id", cause.id},
          {"confidence", std::round(cause.confidence * 100) / 100},
          {"title", cause.title},
          {"evidence", evidence_json(cause.evidence)},
          {"fix", findings::texts_of(cause.fix)}};
}

std::string step_cause_text(const std::string& step, const proof::StepCause& cause,
                            const Style& style) {
  findings::Cause shown;
  shown.id = cause.id;
  shown.confidence = cause.confidence;
  shown.reasons = {step + ": " + cause.title};
  shown.evidence = cause.evidence;
  std::string text = cause_text(shown, {}, style);
  if (!cause.fix.empty())
    text += "  " + style.bold("What to do") + "\n" + steps_text(cause.fix, style);
  return text;
}

}  // namespace headroom::report
