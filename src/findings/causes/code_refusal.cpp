// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/code_refusal.h"

#include <re2/re2.h>

namespace headroom::findings {

using logs::Observation;

bool is_denied(const Observation& seen) {
  static const RE2 denied(
      R"((?i)\b(?:not|no|isn.t|wasn.t|never|rather than|instead of)\W{1,3}(?:an? |the |any |about |due to |caused by )?[`'"]?(?:hipError\w*|HIP_ERROR\w*|invalid device function|no kernel image)|(?:InvalidDeviceFunction|invalid device function)[`'"]? (?:is not|isn.t|was not|did not|does not))");
  return RE2::PartialMatch(seen.text, denied);
}

std::string compiled_target(const LogSubject& subject, const Observation& seen) {
  std::string target;
  for (const Observation* one : subject.log.of("compiled-for-target")) {
    if (one->log != seen.log || (one->line > seen.line && !target.empty())) continue;
    target = one->value("compiled");
  }
  return target;
}

}  // namespace headroom::findings
