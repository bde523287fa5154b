// SPDX-License-Identifier: Apache-2.0
// shm-too-small: the container's /dev/shm has the engine's default of 64 MiB, or little more.
// DataLoader workers and RCCL exchange data there.
#include <fmt/format.h>

#include "findings/job_gpus.h"

namespace headroom::findings {
namespace {

using namespace literals;

constexpr Bytes enough = 1_GiB;

std::vector<Step> steps(const std::string& engine) {
  if (engine == "kubernetes") {
    return {sentence(
        "In the pod, mount an emptyDir with medium: Memory at /dev/shm (sizeLimit: 16Gi).")};
  }
  if (engine == "lxc") {
    return {
        sentence("On the host, in the container's configuration: lxc.mount.entry = tmpfs dev/shm "
                 "tmpfs size=16G,create=dir 0 0")};
  }
  const std::string program = engine == "podman" ? "podman" : "docker";
  return {sentence(program + " run --shm-size 16g …   (or --ipc=host; in compose: shm_size: 16g)")};
}

std::vector<Finding> find(const Subject& subject) {
  const facts::Facts& facts = subject.facts;
  const auto gpus = job_gpus(facts);
  const auto& shm = facts.interconnect.shm;
  if (gpus.empty() || !facts.machine.in_container() || !shm || !(shm->value < enough.value))
    return {};
  Finding finding;
  finding.id = "shm-too-small";
  finding.severity = gpus.size() > 1 ? Severity::warning : Severity::info;
  finding.title = fmt::format("/dev/shm of this {} container holds only {}",
                              *facts.machine.container, to_string(*shm));
  finding.reasons = {
      "PyTorch's DataLoader workers pass batches through it, and RCCL uses it between the "
      "processes of one machine. When it is full, they die with a bus error."};
  finding.evidence = {show(shm, "the size of /dev/shm")};
  finding.fix = steps(*facts.machine.container);
  finding.fix.push_back(
      sentence("A job with one process can do without it: DataLoader(num_workers=0)."));
  finding.next = NextCommand::fix("shm-too-small");
  return {finding};
}

}  // namespace

constinit const Rule shm_too_small_rule = {
    .id = "shm-too-small",
    .meaning = "The container's shared memory has the engine's small default size.",
    .why = "DataLoader workers and RCCL die with a bus error or \"No space left on device\".",
    .fix = "Start the container with a larger /dev/shm, or with the host's.",
    .find = find,
};

}  // namespace headroom::findings
