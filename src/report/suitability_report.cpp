// SPDX-License-Identifier: Apache-2.0
#include "report/suitability_report.h"

#include <nlohmann/json.hpp>

namespace headroom::report {

using Ordered = nlohmann::ordered_json;

Ordered suitability_json(const findings::Suitability& suitability, Ordered evidence) {
  Ordered override = nullptr;
  if (suitability.override) {
    override = {{"value", suitability.override->value},
                {"risk", to_string(suitability.override->risk)},
                {"why", suitability.override->why}};
  }
  return {{"level", to_string(suitability.level)},
          {"route", to_string(suitability.route)},
          {"summary", suitability.summary},
          {"reasons", suitability.reasons},
          {"evidence", std::move(evidence)},
          {"install", findings::texts_of(suitability.install)},
          {"override", std::move(override)},
          {"instead", findings::texts_of(suitability.instead)},
          {"decides", suitability.decides.whole()},
          {"certainty", to_string(suitability.origin.certainty)},
          {"sources", suitability.sources}};
}

std::string suitability_lines(const findings::Suitability& suitability, const Style& style) {
  std::string text = fold(printable(suitability.summary), "  ", style.width);
  if (!suitability.remark.empty()) {
    text += fold(printable(suitability.remark), "  ", style.width);
  }
  return text;
}

}  // namespace headroom::report
