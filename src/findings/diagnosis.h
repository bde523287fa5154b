// SPDX-License-Identifier: Apache-2.0
// From findings to one answer: the verdict, the root cause, and what else it might be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "findings/finding.h"
#include "findings/knob_audit.h"
#include "findings/rules.h"
#include "findings/suitability.h"

namespace headroom::findings {

struct Cause {
  std::string id;
  std::string title;
  double confidence = 0;
  std::vector<std::string> reasons;
  std::vector<Evidence> evidence;  // Of every GPU it concerns.
  std::vector<Step> fix;
  std::vector<std::string> gpus;
};

struct Diagnosis {
  Verdict verdict = Verdict::unknown;
  std::optional<Cause> cause;
  std::vector<Alternative> runners_up;  // Likeliest first.
  std::vector<Finding> findings;
  std::vector<std::optional<Suitability>> suitability;  // Of the facts' GPUs, in their order.
  std::vector<Judgement> environment;                   // Every setting found on the machine.
};

// Runs every rule. GPUs that jobs would not choose (an integrated one beside a usable card, an
// unsupported one beside a usable one) keep their findings as information and decide nothing.
Diagnosis diagnose(const Subject& subject);

// contracts.md: 0 nothing wrong, 1 a warning, an error or a cause, 3 could not look.
int exit_code(const Diagnosis& diagnosis);

}  // namespace headroom::findings
