// SPDX-License-Identifier: Apache-2.0
// What the rules about several GPUs and about the Python stack share: which GPUs a job would run
// on, and whether the installed torch has code for a GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "findings/rules.h"

namespace headroom::findings {

// The GPUs on which ROCm can run and that have some support, in the order of PCI addresses: the
// discrete ones or, if there are none, the integrated ones.
std::vector<const facts::Gpu*> job_gpus(const facts::Facts& facts);

// Whether the installed torch has code for the GPU. Nothing if that is not known: there is no
// torch, it is not built for ROCm, or the names of its code objects are missing.
std::optional<bool> torch_carries(const facts::Facts& facts, const facts::Gpu& gpu);

// "PyTorch 2.4.1+rocm6.0". Requires: a torch was found.
std::string torch_name(const facts::PythonStack& python);

// Installs a torch that has code for this GPU: where from, and with which interpreter's pip.
std::vector<Step> steps_to_install_torch(const Subject& subject, const facts::Gpu& gpu);

// KFD's record of the XGMI or PCIe link between the two; nullptr if KFD's links were not read.
const facts::PeerLink* link_between(const facts::Facts& facts, const facts::Gpu& a,
                                    const facts::Gpu& b);
// Whether any two of `gpus` are not joined by XGMI, so that their data crosses PCIe.
bool any_pair_on_pcie(const facts::Facts& facts, const std::vector<const facts::Gpu*>& gpus);

}  // namespace headroom::findings
