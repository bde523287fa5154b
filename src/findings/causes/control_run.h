// SPDX-License-Identifier: Apache-2.0
// Control runs: the same command, typed twice in one log with one setting in one run only. If both
// runs fail alike, the setting is not what is at fault; if one works, the setting is what matters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "findings/causes/cause_rule.h"
#include "findings/causes/typed_runs.h"

namespace headroom::findings {

struct ControlRun {
  std::string setting;  // "HSA_OVERRIDE_GFX_VERSION", "sudo", "--no-half".
  TypedRun with, without;
  bool same_failure = false;  // Else exactly one of the two works.
};

// Returns the pairs of runs that differ in exactly one setting and whose outcomes tell something.
std::vector<ControlRun> find_control_runs(const logs::Observations& log);

// Lowers a cause that needs a setting, or its absence, if the same failure came in both runs, and
// raises it if the run without it worked. What speaks against it and what speaks for it name the
// two lines.
void weigh_control_runs(const std::vector<ControlRun>& runs, std::string_view cause,
                        Hypothesis& hypothesis);

// Whether a line that tells what came of a setting ("NCCL_P2P_DISABLE=1: pass") says that the job
// worked with it.
bool told_to_work(const logs::Observation& outcome);

// Likewise for a loop or a list that tells what came of each setting in a line.
void weigh_told_outcomes(const LogSubject& subject, std::string_view cause, Hypothesis& hypothesis);

// Lowers a cause about access to the GPU or to a file if a later run of the same program got past
// it: that one fails otherwise, so what was in the way of the first run is gone. `runs` are those
// of the subject's log.
void weigh_later_runs(const LogSubject& subject, const std::vector<TypedRun>& runs,
                      std::string_view cause, Hypothesis& hypothesis);

// The cause that a pair of runs shows by itself, where its rule found nothing: the same command
// works with the setting and fails without it, or the other way round.
std::optional<Hypothesis> shown_by_control_run(const LogSubject& subject,
                                               const std::vector<ControlRun>& runs,
                                               const CauseRule& rule);

}  // namespace headroom::findings
