// SPDX-License-Identifier: Apache-2.0
#include "findings/finding.h"

namespace headroom::findings {

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::info:
      break;
  }
  return "info";
}

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::limited:
      return "limited";
    case Verdict::broken:
      return "broken";
    case Verdict::unsuitable:
      return "unsuitable";
    case Verdict::no_gpu:
      return "no-gpu";
    case Verdict::unknown:
      break;
  }
  return "unknown";
}

}  // namespace headroom::findings
