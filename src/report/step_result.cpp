// SPDX-License-Identifier: Apache-2.0
#include "report/step_result.h"

#include <fmt/format.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "report/step_cause.h"

namespace headroom::report {
namespace {

using proof::StepResult;
using Ordered = nlohmann::ordered_json;

Ordered text_or_null(const std::string& text) {
  return text.empty() ? Ordered(nullptr) : Ordered(text);
}

}  // namespace

std::string word_of(const StepResult& step) {
  return !step.ok ? "skipped" : *step.ok ? "ok" : "FAILED";
}

std::string figure_of(const StepResult& step) {
  if (!step.figure) return "";
  const double size = std::fabs(*step.figure);
  const std::string number =
      size >= 100 ? fmt::format("{:.0f}", *step.figure) : fmt::format("{:.3g}", *step.figure);
  // "relative difference" is what the found column says already.
  return step.unit.find(' ') == std::string::npos || step.unit == "ms a step"
             ? number + " " + step.unit
             : number;
}

std::string painted_line(const std::string& line, const StepResult* step, const Style& style) {
  if (step == nullptr || !step->ok) return style.dim(line);
  return *step->ok ? line : style.red(line);
}

Ordered step_result_json(const StepResult& step) {
  return {{"name", step.name},
          {"ok", step.ok ? Ordered(*step.ok) : Ordered(nullptr)},
          {"figure", step.figure ? Ordered(*step.figure) : Ordered(nullptr)},
          {"unit", text_or_null(step.unit)},
          {"detail", step.detail},
          {"cause", step.cause ? step_cause_json(*step.cause) : Ordered(nullptr)}};
}

}  // namespace headroom::report
