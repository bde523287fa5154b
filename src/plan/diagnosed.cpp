// SPDX-License-Identifier: Apache-2.0
#include "plan/diagnosed.h"

#include <algorithm>

namespace headroom::plan {

bool is_diagnosed(const findings::Diagnosis& diagnosis, std::string_view id) {
  if (diagnosis.cause && diagnosis.cause->id == id) return true;
  return std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                     [id](const findings::Finding& finding) { return finding.id == id; });
}

bool is_trouble(const findings::Diagnosis& diagnosis, std::string_view id) {
  if (diagnosis.cause && diagnosis.cause->id == id) return true;
  return std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                     [id](const findings::Finding& finding) {
                       return finding.id == id && finding.severity != findings::Severity::info;
                     });
}

}  // namespace headroom::plan
