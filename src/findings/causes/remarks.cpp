// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/remarks.h"

#include <string>

#include "logs/describe.h"

namespace headroom::findings {
namespace {

constexpr double when_shown = 0.93;
constexpr double when_said = 0.6;

Hypothesis make(const LogSubject& subject, const CauseRule& rule, const logs::Observation& seen) {
  Hypothesis told;
  told.title = logs::describe(seen);
  told.reasons.emplace_back(rule.meaning);
  told.evidence = {show(subject, seen)};
  told.fix = {sentence(std::string(rule.fix))};
  return told;
}

}  // namespace

std::optional<Hypothesis> find_remark(const LogSubject& subject, const CauseRule& rule) {
  const std::string id(rule.id);
  if (const auto* seen = subject.log.first("shown:" + id)) {
    Hypothesis told = make(subject, rule, *seen);
    told.confidence = when_shown;
    return told;
  }
  const auto* said = subject.log.first("said:" + id);
  if (said == nullptr) return std::nullopt;
  Hypothesis told = make(subject, rule, *said);
  told.confidence = when_said;
  told.reasons.emplace_back(
      "This is what the person says who wrote it; no line of a log proves it.");
  return told;
}

}  // namespace headroom::findings
