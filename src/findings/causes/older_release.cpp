// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/older_release.h"

#include <re2/re2.h>

#include <string>

#include "facts/kernel_text.h"
#include "findings/causes/crash_signs.h"

namespace headroom::findings {

const logs::Observation* older_release_had(const LogSubject& subject, std::string_view gfx) {
  static const RE2 number(R"((\d+\.\d+(?:\.\d+)?))");
  static const RE2 denied(
      R"((?i)\b(?:not?|never|neither|no longer|without|lacks?|zero)\b|n['’]t\b)");
  const facts::Text& used = rocm_of(subject.scene);
  std::string release;
  if (gfx.empty() || !used || !RE2::PartialMatch(*used, number, &release)) return nullptr;
  const auto now = facts::parse_kernel_version(release);
  for (const logs::Observation* told : subject.log.of("release-had-target")) {
    const auto before = facts::parse_kernel_version(told->value("older"));
    const bool is_older = now && before && *before < *now;
    if (!is_older || told->value("had") != gfx) continue;
    if (!RE2::PartialMatch(std::string(told->value("between")), denied)) return told;
  }
  return nullptr;
}

}  // namespace headroom::findings
