// SPDX-License-Identifier: Apache-2.0
// What the rules about several GPUs and about the Python stack share: which GPUs a job would run
// on, and whether the installed torch has code for one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "findings/rules.h"

namespace headroom::findings {

// GPUs that compute can reach and that are supported somehow: the discrete ones, or without any the
// integrated ones. In the order of PCI addresses.
std::vector<const facts::Gpu*> job_gpus(const facts::Facts& facts);

// Nothing where it is not known: no torch, a build for something else, no names of code objects.
std::optional<bool> torch_carries(const facts::Facts& facts, const facts::Gpu& gpu);

// "PyTorch 2.4.1+rocm6.0". Requires: a torch was found.
std::string torch_name(const facts::PythonStack& python);

// Installs a torch that has code for this GPU: where from, and with which interpreter's pip.
std::vector<Step> steps_to_install_torch(const Subject& subject, const facts::Gpu& gpu);

// XGMI or PCIe records that join the two; nullptr where KFD's links were not read.
const facts::PeerLink* link_between(const facts::Facts& facts, const facts::Gpu& a,
                                    const facts::Gpu& b);
// Two of `gpus` that XGMI does not join, so that what they exchange crosses PCIe.
bool any_pair_on_pcie(const facts::Facts& facts, const std::vector<const facts::Gpu*>& gpus);

}  // namespace headroom::findings
