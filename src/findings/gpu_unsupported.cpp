// SPDX-License-Identifier: Apache-2.0
// gpu-unsupported: ROCm never ran on this GPU dependably and no setting makes it so. Memory
// settings are beside the point then, so this rule comes first.
#include <fmt/format.h>

#include "findings/advice.h"
#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

std::vector<std::string> explain(const facts::Gpu& gpu, const knowledge::Target* target,
                                 const std::string& current) {
  std::vector<std::string> reasons;
  if (target == nullptr) {
    reasons.emplace_back(
        "The radeon driver runs it: a chip from before AMD's compute driver, which ROCm never ran "
        "on.");
    return reasons;
  }
  reasons.push_back(fmt::format(
      "No ROCm release up to {} lists {} ({}), TheRock does not build for it, and no PyTorch wheel "
      "carries it.",
      current, target->gfx, target->chip));
  if (gpu.integrated && *gpu.integrated) {
    reasons.emplace_back(
        "That the device nodes exist and rocminfo names the GPU is no sign of support: the kernel "
        "driver "
        "registers it all the same. Services start, then die when the first model loads.");
  }
  for (const auto& [value, risk] : target->overrides) {
    reasons.push_back(
        fmt::format("HSA_OVERRIDE_GFX_VERSION={} makes some programs start; it runs another chip's "
                    "code and nobody "
                    "tests that here, so it is not a foundation for a service.",
                    value));
  }
  return reasons;
}

std::vector<Finding> find(const Subject& subject) {
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    if (!gpu.support || *gpu.support != knowledge::Support::unsupported) continue;
    const auto* target = gpu.gfx ? subject.tables.target(*gpu.gfx) : nullptr;
    Finding finding;
    finding.id = "gpu-unsupported";
    finding.severity = Severity::error;
    finding.gpu = gpu.pci;
    finding.title = fmt::format("ROCm never supported {}", title_of(gpu));
    finding.reasons = explain(gpu, target, subject.tables.current_rocm);
    finding.evidence.push_back(
        show(gpu.support, gpu.gfx ? "the target is " + *gpu.gfx : "driven by radeon"));
    if (gpu.integrated && *gpu.integrated && gpu.vram_total) {
      finding.evidence.push_back(show(
          gpu.vram_total, "an integrated GPU with a carve-out of " + to_string(*gpu.vram_total)));
    }
    finding.fix = {
        "stay on the CPU: use the service's CPU image or device (PyTorch: the +cpu wheel), with "
        "one thread "
        "per core",
        "or use Vulkan, which needs no ROCm: llama.cpp and whisper.cpp built with "
        "-DGGML_VULKAN=ON, or a "
        "build of ncnn",
        vulkan_command(subject.facts.machine),
        "keep /dev/kfd out of containers on this machine, so that nothing tries ROCm"};
    finding.next = "headroom plan --spec JOB.toml";
    finding.claim = Claim{Verdict::unsuitable, 0.97, {}};
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule gpu_unsupported_rule = {
    .id = "gpu-unsupported",
    .meaning = "ROCm never ran dependably on this GPU, and no setting makes it.",
    .why =
        "The kernel registers every AMD GPU and rocminfo names it, so a service starts and looks "
        "healthy. It dies when the first model is loaded, because no library holds code for the "
        "chip or none of its paths was ever tested.",
    .fix =
        "Run on the CPU, or use Vulkan, which needs no ROCm. Keep /dev/kfd away from containers, "
        "so that nothing tries ROCm by itself.",
    .find = find,
};

}  // namespace headroom::findings
