// SPDX-License-Identifier: Apache-2.0
// `headroom check --log FILE` and `--watch NAME`: the root cause of what logs show. A log that is
// still being written is answered as soon as one cause is clear (early_answer.h), or at its end.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"
#include "facts/facts.h"
#include "facts/machine_history.h"
#include "findings/diagnosis.h"
#include "knowledge/gpu_tables.h"
#include "knowledge/package_table.h"

namespace headroom::cli {

struct LogQuestion {
  std::vector<std::string> files;  // "-": standard input; followed if it is the last.
  std::string watch;               // A unit or a container, after the files; empty: none.
  std::string stated;              // A file of facts that a person typed in; empty: none.
  std::string job;         // A job's description, for the sizes of its tensors; empty: none.
  std::string report;      // Where the post-mortem goes; empty: none is asked for.
  std::string root = "/";  // The machine that was looked at.
  bool json = false;
  bool quiet = false;  // The verdict line alone.
};

// The machine that wrote the logs, where it was looked at.
struct LookedAt {
  const facts::Facts& facts;
  const findings::Diagnosis& diagnosis;
  const facts::MachineHistory& history;
  const knowledge::PackageTable& packages;
};

// Prints the answer. `machine` is nullptr where the logs are not known to be this machine's.
int answer_log(const LogQuestion& question, const LookedAt* machine,
               const knowledge::GpuTables& tables, const Context& context);

}  // namespace headroom::cli
