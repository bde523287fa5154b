// SPDX-License-Identifier: Apache-2.0
#include "findings/job_gpus.h"

#include <fmt/format.h>

#include "findings/stack_advice.h"

namespace headroom::findings {
namespace {

using facts::Gpu;
using facts::PythonStack;

std::string pip_of(const PythonStack& python) {
  return python.interpreter ? *python.interpreter + " -m pip" : "python3 -m pip";
}

}  // namespace

std::vector<const Gpu*> job_gpus(const facts::Facts& facts) {
  std::vector<const Gpu*> cards, apus;
  for (const Gpu& gpu : facts.gpus) {
    const bool unsupported = gpu.support && *gpu.support == knowledge::Support::unsupported;
    if (!gpu.kfd_id || unsupported) continue;
    (gpu.integrated && *gpu.integrated ? apus : cards).push_back(&gpu);
  }
  return cards.empty() ? apus : cards;
}

std::optional<bool> torch_carries(const facts::Facts& facts, const Gpu& gpu) {
  const facts::Torch& torch = facts.python.torch;
  if (facts.python.torch_folder.empty() || !torch.targets || !gpu.gfx) return std::nullopt;
  return facts::carries(*torch.targets, *gpu.gfx);
}

std::string torch_name(const PythonStack& python) {
  return "PyTorch" + (python.torch.version ? " " + *python.torch.version : std::string());
}

std::vector<Step> steps_to_install_torch(const Subject& subject, const Gpu& gpu) {
  const std::string pip = pip_of(subject.facts.python);
  std::vector<Step> steps = {command(pip + " uninstall torch torchvision torchaudio triton")};
  const auto* target = gpu.gfx ? subject.tables.target(*gpu.gfx) : nullptr;
  if (target == nullptr) return steps;
  const auto wheels = wheels_for(subject.tables, *target, pip);
  steps.insert(steps.end(), wheels.begin(), wheels.end());
  return steps;
}

const facts::PeerLink* link_between(const facts::Facts& facts, const Gpu& a, const Gpu& b) {
  for (const facts::PeerLink& link : facts.interconnect.peers) {
    const bool same =
        (link.from == a.pci && link.to == b.pci) || (link.from == b.pci && link.to == a.pci);
    if (same) return &link;
  }
  return nullptr;
}

bool any_pair_on_pcie(const facts::Facts& facts, const std::vector<const Gpu*>& gpus) {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (std::size_t j = i + 1; j < gpus.size(); ++j) {
      const auto* link = link_between(facts, *gpus[i], *gpus[j]);
      const bool xgmi = link != nullptr && link->kind && *link->kind == facts::PeerKind::xgmi;
      if (link != nullptr && !xgmi) return true;
    }
  }
  return false;
}

}  // namespace headroom::findings
