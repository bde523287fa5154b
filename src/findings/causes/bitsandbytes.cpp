// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/bitsandbytes.h"

#include "base/text.h"

namespace headroom::findings {

std::string library_asked_of(const logs::Observation& seen) {
  const std::string_view backend = seen.value("backend");
  return to_lower(backend.empty() ? seen.value("asked") : backend);
}

const logs::Observation* built_for_another(const logs::Observations& log, std::string_view asked) {
  if (!asked.starts_with("rocm") || asked == "rocm") return nullptr;
  for (const logs::Observation* one : log.of("bitsandbytes-built")) {
    if (one->value("built") != asked) return one;
  }
  return nullptr;
}

}  // namespace headroom::findings
