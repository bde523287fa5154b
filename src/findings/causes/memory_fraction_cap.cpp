// SPDX-License-Identifier: Apache-2.0
// memory-fraction-cap: the process reached a limit that it set for itself, not the card's size:
// PyTorch's "X allowed", a fraction that TensorFlow, JAX or vLLM was given, an arena of ONNX
// Runtime.
#include <fmt/format.h>

#include "findings/causes/amounts.h"
#include "findings/causes/causes.h"
#include "findings/causes/shortfall.h"

namespace headroom::findings {
namespace {

using logs::Observation;

struct Claim {
  double sure = 0;
  std::string title, reason;
  const Observation* seen = nullptr;
  const Observation* setting = nullptr;
};

std::optional<Claim> of_message(const LogSubject& subject) {
  for (const FailedAllocation& failed : failed_allocations(subject.log)) {
    const Reading reading = read_figures(failed);
    const double sure = reading.of(Shortfall::over_allowance);
    if (sure <= 0) continue;
    return Claim{
        sure,
        fmt::format("The process may use only {}{}, and that is used up",
                    to_string(*failed.allowed),
                    failed.capacity ? " of " + to_string(*failed.capacity) : std::string()),
        reading.sum, failed.seen, subject.log.first("memory-fraction")};
  }
  return std::nullopt;
}

// TensorFlow takes nearly all free memory unless it is told to take only a share.
std::optional<Claim> of_tensorflow(const logs::Observations& log) {
  const Observation* failed = log.first_of({"tf-oom", "tf-oom-tensor"});
  const auto arena = tensorflow_arena(log);
  if (failed == nullptr || !arena) return std::nullopt;
  std::optional<Bytes> free, total;
  for (const Observation* one : log.of("tf-card")) {
    const auto amount = amount_of(*one, "amount");
    if (amount) (one->value("what") == "Free" ? free : total) = amount;
    if (!free) free = amount_of(*one, "free");
    if (!total) total = amount_of(*one, "total");
  }
  if (!free || !total || part_of(arena->limit, *free) > 0.7) return std::nullopt;
  return Claim{
      0.8,
      fmt::format("TensorFlow may use {} of the {} that are free", to_string(arena->limit),
                  to_string(*free)),
      fmt::format("By default it takes nearly all free memory. {} is {:.0f} % of the card's {}, so "
                  "a share was set for the session.",
                  to_string(arena->limit), 100 * part_of(arena->limit, *total), to_string(*total)),
      failed, log.first("tf-device")};
}

// Finds a share that was set, with a failure that it would explain but that does not mention it.
std::optional<Claim> of_setting(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  const Observation* share = log.last("vllm-share");
  const double fraction = share != nullptr ? number_of(*share, "fraction").value_or(1) : 1;
  const Observation* blocks = log.first("vllm-no-blocks");
  if (blocks != nullptr && share != nullptr && fraction < 0.7) {
    return Claim{
        0.75,
        fmt::format("vLLM may use {:.0f} % of the GPU, and the weights fill that", fraction * 100),
        "gpu_memory_utilization is the limit here, not the card.", blocks, share};
  }
  const Observation* set = log.last("memory-fraction");
  const auto failed = failed_allocation(subject);
  const double part = set != nullptr ? number_of(*set, "fraction").value_or(1) : 1;
  if (set != nullptr && failed && part < 0.95) {
    return Claim{
        part < 0.7 ? 0.7 : 0.5,
        fmt::format("The process's own setting lets it use {:.0f} % of the GPU", part * 100),
        "The program or its environment sets a limit below the card's size.", failed->seen, set};
  }
  if (auto claim = of_tensorflow(log)) return claim;
  if (const Observation* sglang = log.first("sglang-memory")) {
    return Claim{0.45, "SGLang's --mem-fraction-static leaves too little memory",
                 "This setting is the share for weights and KV cache, and it is too small here.",
                 sglang, nullptr};
  }
  return std::nullopt;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  auto claim = of_message(subject);
  if (!claim) claim = of_setting(subject);
  if (!claim) return std::nullopt;
  Hypothesis cap;
  cap.confidence = claim->sure;
  cap.title = claim->title;
  cap.reasons = {claim->reason};
  cap.evidence.push_back(show(subject, *claim->seen));
  if (claim->setting != nullptr) {
    cap.evidence.push_back(show(subject, *claim->setting, "the limit is set here"));
  }
  cap.fix = {sentence("Find out where it is set: grep -rnE "
                      "'set_per_process_memory_fraction|memory_fraction|gpu_mem_limit' . and: env "
                      "| grep -E 'ALLOC_CONF|MEM_FRACTION'"),
             sentence("Raise or remove it. torch.cuda.set_per_process_memory_fraction(1.0) gives "
                      "PyTorch the whole card again. vLLM: --gpu-memory-utilization; JAX: "
                      "XLA_PYTHON_CLIENT_MEM_FRACTION"),
             sentence("In a test suite, the test that sets it must also reset it.")};
  cap.alternatives = {{"job-too-big", 0.1, "the same job without the limit"}};
  return cap;
}

}  // namespace

constinit const CauseRule memory_fraction_cap_cause = {
    .id = "memory-fraction-cap",
    .meaning = "The process reached a limit that was set in it, not the card's limit.",
    .why =
        "A memory fraction applies to the whole process until it is set again. A library, a test "
        "or a server option may have set it.",
    .fix = "Raise the fraction, or remove it where it was forgotten.",
    .explains =
        "job-too-big fragmentation vram-held-by-other free-memory-misreported app-bug "
        "framework-bug crash-loop",
    .find = find,
};

}  // namespace headroom::findings
