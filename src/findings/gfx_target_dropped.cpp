// SPDX-License-Identifier: Apache-2.0
// gfx-target-dropped: an older ROCm carried this target; the installed one, or today's where none
// is installed, does not. The card still works with the stack that carries it, and that stack is
// named.
#include <fmt/format.h>

#include "base/text.h"
#include "findings/job_gpus.h"
#include "findings/memory_use.h"
#include "findings/rules.h"
#include "findings/stack_advice.h"

namespace headroom::findings {
namespace {

bool carried_by_installed(const facts::MachineFacts& machine, const knowledge::Target& target) {
  if (!machine.rocm || !target.rocm_last) return false;
  const auto installed = facts::parse_kernel_version(*machine.rocm);
  const auto last = facts::parse_kernel_version(*target.rocm_last);
  if (!installed || !last) return false;
  return std::pair((*installed)[0], (*installed)[1]) <= std::pair((*last)[0], (*last)[1]);
}

void name_stack(const Subject& subject, const knowledge::Target& target,
                const knowledge::Stack& stack, Finding& finding) {
  finding.title += fmt::format("; {} still includes it", stack.torch);
  finding.reasons.push_back(
      fmt::format("The card works with the stack that still includes {}: ROCm {}. {}.", target.gfx,
                  stack.rocm, stack.evidence));
  finding.reasons.emplace_back(
      "The wheel brings its own ROCm libraries, so ROCm need not be installed; one that is "
      "installed may stay, because the wheel does not use it.");
  finding.fix = older_wheels(subject.tables, stack);
}

// Jobs load the installed torch, whatever ROCm the system has.
void blame_torch(const facts::PythonStack& python, const facts::Gpu& gpu, Finding& finding) {
  finding.title = fmt::format("the installed {} no longer includes code for {}", torch_name(python),
                              title_of(gpu));
  finding.evidence.push_back(
      show(python.torch.targets, "it has code for " + join(*python.torch.targets, ", ")));
}

std::vector<Finding> find(const Subject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    if (!gpu.support || *gpu.support != knowledge::Support::dropped) continue;
    const auto* target = subject.tables.target(*gpu.gfx);
    const auto in_torch = torch_carries(subject.facts, gpu);
    if (in_torch ? *in_torch : carried_by_installed(machine, *target)) continue;
    Finding finding;
    finding.id = "gfx-target-dropped";
    finding.severity = Severity::warning;
    finding.gpu = gpu.pci;
    finding.title = fmt::format(
        "AMD's support of {} ended with ROCm {}; {} is newer", title_of(gpu), *target->rocm_last,
        machine.rocm ? "the installed " + *machine.rocm : "today's " + subject.tables.current_rocm);
    finding.evidence = {show(gpu.gfx, "the target is " + *gpu.gfx)};
    if (in_torch) blame_torch(subject.facts.python, gpu, finding);
    if (machine.rocm) finding.evidence.push_back(show(machine.rocm, "the installed ROCm"));
    if (const auto* stack = subject.tables.stack(*gpu.gfx))
      name_stack(subject, *target, *stack, finding);
    finding.fix.push_back(sentence("Leave HSA_OVERRIDE_GFX_VERSION unset. A wheel that includes " +
                                   *gpu.gfx +
                                   " needs no override, and another chip's code faults here."));
    finding.fix.push_back(look("python3 -c \"import torch; print(torch.cuda.get_arch_list())\"",
                               "(must name " + *gpu.gfx + ")"));
    if (target->attention == knowledge::Attention::none) {
      finding.reasons.push_back(
          "PyTorch ships no fused attention kernels for it, so attention needs memory that grows "
          "with the "
          "square of the sequence; plan with attention = \"math\".");
    }
    finding.next = NextCommand::stack();
    finding.claim = Claim{Verdict::limited, 0.9, {}};
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule gfx_target_dropped_rule = {
    .id = "gfx-target-dropped",
    .meaning =
        "An older ROCm included this GPU's target. The installed one does not; nor does today's, "
        "if none is installed.",
    .why =
        "The card itself still works. The libraries no longer contain code for it, so programs end "
        "with \"invalid device function\" or find no GPU at all.",
    .fix = "Install the stack that still includes it, and pin that version.",
    .find = find,
};

}  // namespace headroom::findings
