// SPDX-License-Identifier: Apache-2.0
// What was changed on the machine that is looked at, by this system's clock.
#pragma once

#include "facts/facts.h"
#include "facts/machine_history.h"
#include "knowledge/package_table.h"
#include "machine/clock.h"
#include "machine/files.h"
#include "probe/read_history.h"

namespace headroom::cli {

inline facts::MachineHistory read_history(const machine::Files& files,
                                          const knowledge::PackageTable& packages,
                                          const facts::Facts& facts) {
  return probe::read_history(files, packages, facts.python, machine::local_now());
}

}  // namespace headroom::cli
