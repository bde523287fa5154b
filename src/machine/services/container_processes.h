// SPDX-License-Identifier: Apache-2.0
// The processes of a container, as this system numbers them.
#pragma once

#include <vector>

#include "machine/services/container_state.h"
#include "machine/services/process_list.h"

namespace headroom::machine {

// Its first process and what comes from it, `podman exec` and its like included where it has a
// control group of its own. Empty where it does not run, or runs on another system: behind
// DOCKER_HOST, or in a virtual machine. That it is this one is known by its control group, or by
// the program that looks after it, which has its id on its command line.
std::vector<ListedProcess> processes_of_container(const ContainerState& container);

}  // namespace headroom::machine
