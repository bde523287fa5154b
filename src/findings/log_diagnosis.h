// SPDX-License-Identifier: Apache-2.0
// Makes one answer from what logs show: the root cause, its consequences, what else it might be,
// and what would tell.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "findings/causes/cause_rule.h"
#include "findings/diagnosis.h"
#include "findings/failed_tensor.h"
#include "findings/memory_growth.h"
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
  Cause cause;                          // Its id may also be "none" or "insufficient-evidence".
  std::vector<Alternative> runners_up;  // Likeliest first.
  std::vector<Consequence> consequences;
  std::vector<Evidence> harmless;  // Lines that look frightening but mean nothing.
  std::vector<Event> timeline;
  std::optional<FailedTensor> failed_tensor;  // The tensor that did not fit, if its size tells.
  std::optional<MemoryGrowth> growth;         // What figures over steps say; nothing if too few.
  bool is_measured = false;  // The cause was found on the machine, and is not the logs'.
  bool is_of_host = false;   // What ran out is the machine's RAM: the kernel ended a process.
  // By the program's own figures more was free than it asked for, and was refused.
  bool was_refused_with_room = false;
  // The HIP index of the GPU whose memory ran out, where the log says it and no mask.
  std::optional<std::uint64_t> gpu;
};

// Confidences are the rules' weights; calibrate() makes shares of them.
LogDiagnosis diagnose_logs(const LogSubject& subject);
// The same with these rules instead of cause_rules().
LogDiagnosis diagnose_logs(const LogSubject& subject, std::span<const CauseRule* const> rules);

// Adds what was found on the machine that wrote the logs. If its root cause is the same as the
// logs', it supports it; otherwise it is a runner-up. `gpu`: the PCI address of the GPU that the
// log means, for which alone steps are given; empty: it is not known.
void join_machine(const Diagnosis& machine, LogDiagnosis& diagnosis, const std::string& gpu = {});

// What to type next on the machine that wrote the log, where no finding there mends this cause.
// Most causes have no such command.
NextCommand next_of_cause(std::string_view cause);

// 0 for a healthy log, 1 for any other answer.
int exit_code(const LogDiagnosis& diagnosis);

}  // namespace headroom::findings
