// SPDX-License-Identifier: Apache-2.0
// Why an attempt failed: what the log rules make of its output and of the kernel's messages, with
// the facts of this machine, and what its control group counted. One question decides what is done
// about it: was it a lack of memory, which smaller settings mend?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "findings/diagnosis.h"
#include "knowledge/gpu_tables.h"
#include "logs/observation.h"
#include "supervisor/supervisor.h"

namespace headroom::run {

struct EndedAttempt {
  const logs::Observations& log;
  const std::vector<std::string>& log_names;
  supervisor::Exit exit;
  std::uint64_t kernel_kills = 0;  // That its control group counted.
  std::optional<Bytes> limit;      // Of the whole tree.
  // More than the limit was added up, and no kernel enforced it.
  std::optional<Bytes> over_limit;
};

// The machine as it is after the attempt.
struct MachineAfter {
  const facts::Facts& facts;
  const findings::Diagnosis& diagnosis;
};

// `machine` is nullptr where it could not be looked at.
supervisor::event::Diagnosed diagnose_attempt(const EndedAttempt& attempt,
                                              const MachineAfter* machine,
                                              const knowledge::GpuTables& tables);

}  // namespace headroom::run
