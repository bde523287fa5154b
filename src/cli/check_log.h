// SPDX-License-Identifier: Apache-2.0
// `headroom check --log FILE`: the root cause of what logs show.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.h"
#include "knowledge/gpu_tables.h"

namespace headroom::cli {

struct LogQuestion {
  std::vector<std::string> files;  // "-": standard input.
  std::string stated;              // A file of facts that a person typed in; empty: none.
  bool json = false;
};

// Prints the answer; `measured` is the machine's facts, or nullptr where it is not the one that
// wrote the logs.
int answer_log(const LogQuestion& question, const facts::Facts* measured,
               const knowledge::GpuTables& tables);

}  // namespace headroom::cli
