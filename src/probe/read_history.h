// SPDX-License-Identifier: Apache-2.0
// Reads what was changed on a machine: the logs of its package managers, the modules that DKMS
// built, the packages of the Python that jobs run on, and the generations of NixOS and OSTree. A
// record of the machine keeps what was made of them, for packages that matter alone, and no log.
#pragma once

#include <string>

#include "facts/machine_history.h"
#include "facts/python_stack.h"
#include "knowledge/package_table.h"
#include "machine/files.h"

namespace headroom::probe {

// `now`: the time on this system's clock (machine::local_now()); of a captured machine it is not
// asked for. A capture that was made without histories has none here.
facts::MachineHistory read_history(const machine::Files& files,
                                   const knowledge::PackageTable& table,
                                   const facts::PythonStack& python, const std::string& now);

}  // namespace headroom::probe
