// SPDX-License-Identifier: Apache-2.0
// Reads settings that concern GPUs, wherever this machine has them: shells, logins, services,
// containers, running jobs, module options and the kernel command line. An environment may hold
// secrets, so only settings in the table of knobs are kept.
#pragma once

#include <string>

#include "facts/environment.h"
#include "facts/holder.h"
#include "facts/machine_facts.h"
#include "knowledge/knobs.h"
#include "machine/files.h"
#include "probe/read_shell.h"

namespace headroom::probe {

struct EnvironmentPlaces {
  const facts::MachineFacts& machine;  // Module options are settings too.
  const facts::Processes& processes;   // The processes that have a GPU open.
  const Shell& shell;
};
facts::Environment read_environment(const machine::Files& files, const EnvironmentPlaces& places,
                                    const knowledge::KnobTable& knobs);

}  // namespace headroom::probe
