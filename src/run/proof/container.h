// SPDX-License-Identifier: Apache-2.0
// The steps in a container: an image that is here, without a network, with the GPU's device nodes
// and the program of the steps, which is only read. The container is ended by its name, and by
// itself once headroom has ended (headroom_steps/guard.py).
#pragma once

#include <string>
#include <vector>

#include "run/proof/step_host.h"

namespace headroom::run {

struct Container {
  std::string engine;                // "podman" or "docker", or a path of one.
  std::string image;                 // Never one that begins with a dash.
  std::string name;                  // Of the container; of nothing else.
  std::string program;               // The folder headroom_steps.
  std::vector<std::string> devices;  // Of these that exist: "/dev/kfd".
};

// Puts its command, and what ends it, into the host. Masks of GPUs hold in it, too, where the
// host's environment has them.
void run_in_container(const Container& container, StepHost& host);

}  // namespace headroom::run
