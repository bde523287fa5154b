// SPDX-License-Identifier: Apache-2.0
// Makes one answer from the findings: the verdict, the root cause, and what else it might be.
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
  std::vector<Evidence> against = {};  // What speaks against it; only a log shows such lines.
  bool is_told = false;                // It rests on what a log's author says alone.
};

struct Diagnosis {
  Verdict verdict = Verdict::unknown;
  std::optional<Cause> cause;
  std::vector<Alternative> runners_up;  // Likeliest first.
  std::vector<Finding> findings;
  // One for each GPU of the facts, in their order.
  std::vector<std::optional<Suitability>> suitability;
  std::vector<Judgement> environment;  // Every setting found on the machine.
};

// Runs every rule. Findings about GPUs that jobs would not choose (an integrated one beside a
// usable card, an unsupported one beside a usable one) become information and do not affect the
// answer.
Diagnosis diagnose(const Subject& subject);

// The steps of the cause, with those that other findings need done before the same reboot. Expects
// a cause.
std::vector<Step> joined_steps(const Diagnosis& diagnosis);
// Those of the other findings alone, which the command that mends the cause does not do.
std::vector<Step> added_steps(const Diagnosis& diagnosis);
// Whether joined_steps() has this finding's.
bool is_among_steps(const Finding& finding, const Diagnosis& diagnosis);

// The exit code of `headroom check`: 0 if nothing is wrong, 1 for a warning, an error or a cause, 3
// if the machine could not be read.
int exit_code(const Diagnosis& diagnosis);

}  // namespace headroom::findings
