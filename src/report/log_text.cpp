// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/log_report.h"

namespace headroom::report {

std::string to_text(const findings::LogDiagnosis& diagnosis, const findings::Scene&,
                    const LogExtent&, const Style& style) {
  std::string text = fmt::format("{}  {}\n", style.bold(diagnosis.cause.id), diagnosis.cause.title);
  for (const std::string& reason : diagnosis.cause.reasons) text += fold(reason, "  ", style.width);
  return text;
}

}  // namespace headroom::report
