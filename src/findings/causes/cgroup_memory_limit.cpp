// SPDX-License-Identifier: Apache-2.0
// cgroup-memory-limit: the kernel killed the job because its control group (container, pod, Slurm
// step, unit) reached its limit on host RAM. The kernel itself says so (CONSTRAINT_MEMCG); exit
// code 137 alone says only that SIGKILL was sent.
#include <fmt/format.h>

#include "findings/causes/amounts.h"
#include "findings/causes/causes.h"
#include "findings/causes/growth.h"

namespace headroom::findings {
namespace {

using logs::Observation;

struct Claim {
  double sure = 0;
  std::string title, reason;
  const Observation* seen = nullptr;
};

const Observation* oom_killed(const logs::Observations& log) {
  if (const Observation* one = log.first("oom-killed")) return one;
  // `docker inspect` prints "true" if the container was killed for memory.
  for (const Observation* one : log.of("inspect-oom")) {
    if (one->output_has("true")) return one;
  }
  return nullptr;
}

Claim find_claim(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  const bool in_container = subject.scene.machine.in_container();
  if (const Observation* group = log.first("cgroup-oom")) {
    return {0.93, "The control group's memory limit killed the job",
            "The kernel names the control group as the reason: its limit on host RAM was reached, "
            "not the machine's, and not the GPU's memory.",
            group};
  }
  if (const Observation* engine = oom_killed(log)) {
    return {log.seen("host-oom-kill") ? 0.5 : 0.92, "The container's memory limit killed the job",
            "The engine reports OOMKilled: the container used more host RAM than its limit. GPU "
            "memory does not count towards it.",
            engine};
  }
  if (const Observation* evicted = log.first("pod-evicted")) {
    return {0.6, "Kubernetes evicted the pod because its node ran out of RAM",
            "The node's RAM was used up. A pod that uses more than it requested is evicted first.",
            evicted};
  }
  if (const Observation* shared = log.first("shm-small")) {
    return {0.55, "The container's /dev/shm is too small for the data loader's workers",
            "Workers pass batches through /dev/shm, which Docker limits to 64 MiB.", shared};
  }
  const Observation* unit = log.first("unit-oom");
  if (unit != nullptr && !log.seen("host-oom-kill")) {
    return {log.seen("memory-limit") ? 0.75 : 0.5,
            "The kernel killed the service because memory ran out",
            "systemd reports the same whether the unit reached its limit or the machine's RAM was "
            "full.",
            unit};
  }
  const Observation* killed = log.first("killed");
  // A kernel report about the whole machine's memory, or a kill by a person, explains it.
  if (killed == nullptr || log.any_of({"host-oom-kill", "job-killed"})) return {};
  const bool limited = log.seen("memory-limit");
  const bool by_engine = killed->text.find("137") != std::string::npos;
  return {limited                     ? 0.62
          : in_container && by_engine ? 0.52
          : in_container || by_engine ? 0.42
                                      : 0.3,
          "The job was killed from outside, as happens at a memory limit",
          "A SIGKILL without any message from the job is typical of the kernel's OOM killer. The "
          "kernel's log says whether it was the group's limit or the machine's RAM.",
          killed};
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const Claim claim = find_claim(subject);
  if (claim.seen == nullptr) return std::nullopt;
  // A bare kill on another vendor's machine tells nothing about a limit.
  constexpr double told_by_a_limit = 0.62;
  if (subject.scene.is_foreign() && claim.sure < told_by_a_limit) return std::nullopt;
  Hypothesis limit;
  limit.confidence = claim.sure;
  limit.title = claim.title;
  const Observation* told = subject.log.first("memory-limit");
  const auto limit_told = told != nullptr ? amount_of(*told, "limit") : std::nullopt;
  if (limit_told) limit.title += fmt::format(" ({})", to_string(*limit_told));
  limit.reasons.push_back(claim.reason);
  limit.evidence.push_back(show(subject, *claim.seen));
  if (told != nullptr) limit.evidence.push_back(show(subject, *told));
  limit.fix = {
      sentence_with("On the host, see what killed it (CONSTRAINT_MEMCG means the limit, "
                    "CONSTRAINT_NONE the machine's RAM)",
                    "sudo dmesg -T | grep -iE 'oom-kill|Killed process'"),
      sentence("Raise the limit: Kubernetes resources.limits.memory; docker run --memory, "
               "--shm-size; Slurm --mem; systemd MemoryMax="),
      sentence("Or use less host RAM: fewer data loader workers, safetensors with mmap, llama.cpp "
               "--cache-ram (LLAMA_ARG_CACHE_RAM), ollama OLLAMA_MAX_LOADED_MODELS=1")};
  limit.alternatives = {
      {"job-too-big", claim.sure > 0.9 ? 0.05 : 0.3,
       "dmesg shows CONSTRAINT_NONE: the machine's RAM was full"},
      {"crash-loop", claim.sure > 0.9 ? 0.02 : 0.2, "docker inspect --format '{{.State}}' NAME"}};
  tell_growth_of_host(subject, limit);
  return limit;
}

}  // namespace

constinit const CauseRule cgroup_memory_limit_cause = {
    .id = "cgroup-memory-limit",
    .meaning = "The container's or control group's limit on host RAM is too small.",
    .why =
        "Weights pass through host memory on their way to the GPU. Caches, data loaders and "
        "offloaded states stay there. Beyond the limit the kernel kills the process, and all that "
        "you see is exit code 137.",
    .fix = "Raise the limit, or use less host memory.",
    .explains = "crash-loop job-too-big app-bug framework-bug free-memory-misreported",
    .any_vendor = true,
    .find = find,
};

}  // namespace headroom::findings
