// SPDX-License-Identifier: Apache-2.0
// From what logs show to one answer: the root cause, what it brought about, what else it might be,
// and what would tell.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "findings/causes/cause_rule.h"
#include "findings/diagnosis.h"
#include "findings/failed_tensor.h"
#include "findings/timeline.h"

namespace headroom::findings {

// A cause that the root cause explains.
struct Consequence {
  std::string id;
  std::string title;
  std::vector<Evidence> evidence;
};

struct LogDiagnosis {
  Verdict verdict = Verdict::unknown;
  Cause cause;                          // "none" and "insufficient-evidence" are answers too.
  std::vector<Alternative> runners_up;  // Likeliest first.
  std::vector<Consequence> consequences;
  std::vector<Evidence> harmless;  // Frightening lines that mean nothing.
  std::vector<Event> timeline;
  std::optional<FailedTensor> failed_tensor;  // What could not be had, where its size tells.
};

LogDiagnosis diagnose_logs(const LogSubject& subject);
// The same with other rules than cause_rules().
LogDiagnosis diagnose_logs(const LogSubject& subject, std::span<const CauseRule* const> rules);

// The machine that wrote the logs was looked at as well: its own root cause supports the logs'
// where it is the same, and is a runner-up otherwise.
void join_machine(const Diagnosis& machine, LogDiagnosis& diagnosis);

// 0 for a healthy log, 1 for any other answer.
int exit_code(const LogDiagnosis& diagnosis);

}  // namespace headroom::findings
