// SPDX-License-Identifier: Apache-2.0
#include "proof/together.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace headroom::proof {
namespace {

using findings::sentence;

bool failed(const JoinedStep& step) {
  return step.result.ok && !*step.result.ok;
}

bool passed(const TogetherReport& report, std::string_view name) {
  const auto is = [name](const JoinedStep& step) { return step.result.name == name; };
  return std::any_of(report.steps.begin(), report.steps.end(), is) &&
         std::all_of(report.steps.begin(), report.steps.end(), [&is](const JoinedStep& step) {
           return !is(step) || step.result.ok.value_or(false);
         });
}

bool any_failed(const TogetherReport& report, std::string_view name) {
  return std::any_of(report.steps.begin(), report.steps.end(), [name](const JoinedStep& step) {
    return step.result.name == name && failed(step);
  });
}

// What of a machine can keep devices from working together, and which steps pass that way.
struct Way {
  std::string_view finding;
  bool peers;   // Copies between GPUs, and what is made of them.
  bool memory;  // What processes exchange through /dev/shm.
};
constexpr std::array ways = {
    Way{"iommu-not-passthrough", true, false}, Way{"acs-blocks-peers", true, false},
    Way{"pcie-link-degraded", true, false},    Way{"memlock-too-low", true, true},
    Way{"shm-too-small", false, true},         Way{"mixed-targets", true, false},
    Way{"igpu-beside-discrete", true, false},  Way{"mask-hides-gpu", true, false},
    Way{"mask-names-missing", true, false},
};

bool uses_peers(std::string_view step) {
  return step != gloo_step && step != no_peers_step;
}

bool uses_memory(std::string_view step) {
  return step != peer_step && step != data_parallel_step;
}

std::vector<const findings::Finding*> explanations_of(const findings::Diagnosis& diagnosis,
                                                      std::string_view step) {
  std::vector<const findings::Finding*> found;
  for (const Way& way : ways) {
    if (!(way.peers && uses_peers(step)) && !(way.memory && uses_memory(step))) continue;
    for (const findings::Finding& one : diagnosis.findings) {
      if (one.id == way.finding) found.push_back(&one);
    }
  }
  return found;
}

// Between which devices, as a sentence has it: "0000:03:00.0 and 0000:07:00.0".
std::string between(const JoinedStep& step) {
  if (!step.between.empty() && step.between.front() == "cpu")
    return fmt::format("{} ranks on the processor", step.between.size());
  return join(step.between, step.result.name == peer_step ? " to " : " and ");
}

StepCause cause_of(const JoinedStep& step, bool on_gpu) {
  const std::string& name = step.result.name;
  const bool is_peer = on_gpu && (name == peer_step || name == nccl_step);
  StepCause cause;
  cause.id = is_peer ? "rccl-p2p" : "collective-hang";
  cause.confidence = is_peer ? 0.8 : 0.7;
  cause.title = fmt::format("{} does not work between {}", find_step(name)->meaning, between(step));
  return cause;
}

void add_evidence(const std::vector<const findings::Finding*>& explanations, StepCause& cause) {
  for (const findings::Finding* one : explanations) {
    if (one->evidence.empty()) {
      cause.evidence.push_back({"headroom check", 0, one->id, one->title});
    } else {
      cause.evidence.push_back(one->evidence.front());
      cause.evidence.back().meaning = one->title;
    }
    // The first that explains it mends it best; the others are named by their evidence.
    if (cause.fix.empty()) cause.fix = one->fix;
  }
}

void explain_step(const findings::Diagnosis& diagnosis, bool on_gpu, JoinedStep& step) {
  const auto explanations = explanations_of(diagnosis, step.result.name);
  // A process that died was judged by what it wrote; of one that waits little more is known.
  const auto& told = step.result.cause;
  const bool is_general = step.is_hung && told && (told->id == "hang" || told->id == "gpu-hang");
  if (!step.result.cause || is_general) {
    step.result.cause = cause_of(step, on_gpu);
    step.result.cause->evidence = {
        {"the step " + step.result.name, 0, step.result.detail, "what it found"}};
  }
  StepCause& cause = *step.result.cause;
  add_evidence(explanations, cause);
  if (cause.fix.empty())
    cause.fix = {findings::look("headroom check", "(nothing of it explains this so far)")};
}

void choose_instead(TogetherReport& report) {
  const std::size_t count = report.devices.size();
  const bool nccl_fails = any_failed(report, nccl_step);
  if (nccl_fails && passed(report, no_peers_step)) {
    report.instead.push_back(findings::sentence_with(
        "RCCL works without copies between GPUs: its data goes through RAM",
        fmt::format("NCCL_P2P_DISABLE=1 torchrun --nproc-per-node {} train.py", count)));
  }
  const bool collectives_fail = nccl_fails || any_failed(report, gloo_step) ||
                                any_failed(report, ddp_step) || any_failed(report, fsdp_step);
  // Its segment lies in the same memory, which is too small where that was found.
  const bool has_memory =
      std::none_of(report.facts.begin(), report.facts.end(),
                   [](const Explanation& one) { return one.id == "shm-too-small"; });
  if (collectives_fail && has_memory) {
    report.instead.push_back(findings::sentence_with(
        "headroom averages gradients through shared memory, without RCCL and without copies "
        "between GPUs; the script stays as it is",
        fmt::format("headroom run --ranks {} -- python train.py", count)));
  }
  if (any_failed(report, data_parallel_step) && passed(report, ddp_step)) {
    report.instead.push_back(sentence(
        "DistributedDataParallel works here: one process for each GPU, in place of DataParallel."));
  }
  if (any_failed(report, fsdp_step) && passed(report, ddp_step)) {
    report.instead.push_back(
        sentence("DistributedDataParallel works here: the whole model on each "
                 "GPU, in place of FSDP's parts."));
  }
  if (any_failed(report, peer_step) && passed(report, gloo_step)) {
    report.instead.push_back(sentence(
        "What must go from one GPU to another: by way of the processor, tensor.cpu().to(device)."));
  }
}

}  // namespace

bool has_failure(const TogetherReport& report) {
  return std::any_of(report.steps.begin(), report.steps.end(), failed);
}

void explain(const findings::Diagnosis& diagnosis, TogetherReport& report) {
  if (!has_failure(report)) return;
  for (JoinedStep& step : report.steps) {
    if (!failed(step)) continue;
    for (const findings::Finding* one : explanations_of(diagnosis, step.result.name)) {
      const bool is_there =
          std::any_of(report.facts.begin(), report.facts.end(),
                      [one](const Explanation& other) { return other.title == one->title; });
      if (!is_there) report.facts.push_back({one->id, one->title});
    }
    explain_step(diagnosis, report.on_gpu, step);
  }
  choose_instead(report);
}

}  // namespace headroom::proof
