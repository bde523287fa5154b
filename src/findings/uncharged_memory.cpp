// SPDX-License-Identifier: Apache-2.0
// uncharged-memory: an APU's hipMalloc takes system memory that no memory cgroup is charged for
// (measured: 80 GB allocated in a container limited to 72 GiB; llama.cpp issue 20472). A limit on
// this group therefore protects neither its neighbours nor itself.
#include <fmt/format.h>

#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

std::vector<Finding> find(const Subject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  const auto& limit = machine.cgroup.memory_max;
  std::vector<Finding> findings;
  if (!limit || (machine.memory.total && *limit >= *machine.memory.total)) return findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    const facts::Rung* binding = gpu.ladder.binding();
    if (!on_gtt(gpu) || binding == nullptr) continue;
    Finding finding;
    finding.id = "uncharged-memory";
    finding.gpu = gpu.pci;
    finding.title = fmt::format(
        "the control group's limit of {} does not count what {} takes: up to {} of system memory",
        to_string(*limit), title_of(gpu), to_string(*binding->limit));
    finding.reasons = {
        "On this APU hipMalloc is not charged to any control group; hipHostMalloc and "
        "hipMallocManaged are. When RAM runs out, the kernel may kill processes that took none of "
        "it."};
    finding.evidence = {show(limit, "the group's limit"),
                        show(binding->limit, "what hipMalloc can take beside it")};
    finding.fix = {
        sentence("Limit the job itself (PyTorch: torch.cuda.set_per_process_memory_fraction), or "
                 "lower TTM's limit for the whole machine.")};
    finding.next = NextCommand::check("--if ttm.pages_limit=SIZE");
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule uncharged_memory_rule = {
    .id = "uncharged-memory",
    .meaning = "The control group's limit does not cover an APU's GPU memory.",
    .why =
        "hipMalloc takes system memory through TTM, which charges no control group. The "
        "administrator's limit does not hold. When RAM runs out, the kernel chooses a process by "
        "the sizes that it knows, and often kills an innocent one.",
    .fix = "Limit the job itself, or the whole machine with TTM's limit.",
    .find = find,
};

}  // namespace headroom::findings
