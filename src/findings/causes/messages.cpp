// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/messages.h"

#include <algorithm>

#include "findings/causes/recovery.h"
#include "findings/causes/telltale.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using knowledge::Likelihood;
using knowledge::MessageCause;
using logs::Observation;

double weight_of(Likelihood likelihood) {
  switch (likelihood) {
    case Likelihood::certain:
      return 0.93;
    case Likelihood::likely:
      return 0.75;
    case Likelihood::possible:
      return 0.42;
    case Likelihood::conceivable:
      break;
  }
  return confidence::conceivable;
}

const MessageCause* cause_of(const Observation& seen, std::string_view id) {
  const auto& causes = seen.signature->causes;
  const auto found = std::find_if(causes.begin(), causes.end(),
                                  [&](const MessageCause& one) { return one.id == id; });
  return found == causes.end() ? nullptr : &*found;
}

// Whether the line itself goes on to name the symbol that its library lacks, which says more than
// that something did not load.
bool names_its_symbol(const logs::Observations& log, const Observation& seen) {
  if (seen.signature->role != knowledge::Role::failure) return false;
  const auto missing = log.of("symbol-missing");
  return std::any_of(missing.begin(), missing.end(), [&](const Observation* one) {
    return one->log == seen.log && one->line == seen.line && one->id() != seen.id();
  });
}

// Whether another signature knows the same line as harmless.
bool is_harmless(const logs::Observations& log, const Observation& seen) {
  return seen.signature->role == knowledge::Role::failure && !is_failure(log, seen);
}

}  // namespace

std::optional<Hypothesis> find_message(const LogSubject& subject, const CauseRule& rule) {
  const Observation* surest = nullptr;
  const MessageCause* cause = nullptr;
  for (const Observation& one : subject.log.all()) {
    const MessageCause* named = cause_of(one, rule.id);
    if (named == nullptr || (cause != nullptr && named->likelihood >= cause->likelihood)) continue;
    if (is_harmless(subject.log, one) || names_its_symbol(subject.log, one)) continue;
    surest = &one;
    cause = named;
  }
  if (surest == nullptr) return std::nullopt;
  Hypothesis told;
  told.confidence = weight_of(cause->likelihood);
  told.title = logs::describe(*surest);
  told.reasons.emplace_back(rule.meaning);
  told.evidence = {show(subject, *surest)};
  told.fix = {sentence(std::string(rule.fix))};
  for (const MessageCause& other : surest->signature->causes) {
    if (other.id == rule.id) continue;
    told.alternatives.push_back(
        {other.id, weight_of(other.likelihood), std::string(telltale(other.id))});
  }
  if (!told.alternatives.empty()) {
    told.reasons.emplace_back("The message has other causes too, and the lines do not tell which.");
  }
  return told;
}

}  // namespace headroom::findings
