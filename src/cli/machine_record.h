// SPDX-License-Identifier: Apache-2.0
// What check reads of a machine, recorded, without what is nobody's business: for capture and
// accept.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/commands.h"
#include "knowledge/gpu_tables.h"
#include "machine/files.h"
#include "machine/recording.h"
#include "probe/read_shell.h"
#include "redact/redactor.h"

namespace headroom::cli {

struct MachineRecord {
  knowledge::GpuTables tables;
  machine::Recording recording;
  redact::Redactor redactor;  // Knows the machine's names, for other texts that speak of it.
  std::string python;         // As typed, without names.
  std::string answer;         // What check --json prints of the machine, names and all.
  bool is_live = false;
};

// `root` and `python` are as in `headroom check`.
Result<MachineRecord> record_machine(const std::string& root, const std::string& python,
                                     const Context& context);

// What check --json prints, but for the one thing that a capture cannot share.
Result<std::string> check_as_text(const machine::Files& files, const knowledge::GpuTables& tables,
                                  const probe::Surroundings& surroundings);

}  // namespace headroom::cli
