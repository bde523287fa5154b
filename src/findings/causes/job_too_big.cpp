// SPDX-License-Identifier: Apache-2.0
// job-too-big: the job really needs more memory than there is. The request exceeds the card, or the
// job's own allocations fill it. Without figures in the message this is merely the usual reason.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "findings/causes/access.h"
#include "findings/causes/amounts.h"
#include "findings/causes/apu_pool.h"
#include "findings/causes/cache_advice.h"
#include "findings/causes/causes.h"
#include "findings/causes/convolutions.h"
#include "findings/causes/device_memory.h"
#include "findings/causes/growth.h"
#include "findings/causes/shortfall.h"

namespace headroom::findings {
namespace {

using logs::Observation;

struct Claim {
  double sure = 0;
  std::string title, reason;
  const Observation* seen = nullptr;
};

void keep_surest(Claim& claim, Claim other) {
  if (other.seen != nullptr && other.sure > claim.sure) claim = std::move(other);
}

// Whether llama.cpp's buffers so far and the one that failed are well below the card's size.
bool would_fit_alone(const FailedAllocation& failed) {
  return failed.seen->id().starts_with("ggml") && failed.asked && failed.capacity &&
         part_of(failed.allocated.value_or(Bytes{}) + *failed.asked, *failed.capacity) < 0.7;
}

// `trust` is lower for an APU, whose size is a setting that other rules report on.
Claim of_figures(const FailedAllocation& failed, const Reading& reading, double trust) {
  const std::string asked = failed.asked ? to_string(*failed.asked) : "more memory";
  const std::string card = failed.capacity ? to_string(*failed.capacity) : "the card";
  switch (reading.shortfall) {
    case Shortfall::larger_than_card:
      if (is_no_size(failed.asked)) return {};
      return {reading.sure * trust,
              fmt::format("The job asks for {} at once, and the card has {}", asked, card),
              reading.sum, failed.seen};
    case Shortfall::unknown:
      return {would_fit_alone(failed) ? 0.35 : confidence::possible,
              "The job needs more GPU memory than it can get",
              "The message has too few figures to show who holds the memory. The usual reason is "
              "that the job itself is too large.",
              failed.seen};
    default:
      // A little doubt is left to the other explanation as an alternative.
      if (reading.of(Shortfall::own_need) < 0.3) return {};
      return {reading.of(Shortfall::own_need),
              fmt::format("The job fills the card: it holds {} of {} and asks for {} more",
                          to_string(failed.allocated.value_or(Bytes{})), card, asked),
              reading.sum, failed.seen};
  }
}

// llama.cpp and ollama load the whole model, whose size they tell.
Claim of_model(const LogSubject& subject, const FailedAllocation& failed) {
  if (!failed.capacity) return {};
  const Observation* offload = subject.log.last("llama-offload");
  const bool whole = offload == nullptr || offload->value("on") == offload->value("all");
  if (failed.allocated && failed.asked && failed.allocated->value > 0 &&
      (*failed.allocated + *failed.asked).value >= failed.capacity->value / 100 * 96) {
    return {0.85,
            fmt::format("The model's buffers need {}, and the card has {}",
                        to_string(*failed.allocated + *failed.asked), to_string(*failed.capacity)),
            "The buffers that were allocated and the one that failed are together larger than the "
            "card.",
            failed.seen};
  }
  for (const Observation* one : subject.log.of("llama-file-size")) {
    const auto size = amount_of(*one, "size");
    if (!size || !whole || part_of(*size, *failed.capacity) < 0.95) continue;
    return {0.85,
            fmt::format("The model is {}, the card has {}", to_string(*size),
                        to_string(*failed.capacity)),
            "All of its layers should go to the GPU, and on a discrete card hipMalloc does not "
            "spill to system memory.",
            one};
  }
  const Observation* fit = subject.log.last("llama-fit");
  const auto wanted = fit != nullptr ? amount_of(*fit, "wanted") : std::nullopt;
  if (wanted && *wanted > *failed.capacity) {
    return {0.85,
            fmt::format("The model needs {}, the card has {}", to_string(*wanted),
                        to_string(*failed.capacity)),
            "llama.cpp's own estimate is larger than the card.", fit};
  }
  return {};
}

// Adds servers that plan with the whole card and find no room for the KV cache.
void add_servers(const LogSubject& subject, Claim& claim) {
  const logs::Observations& log = subject.log;
  keep_surest(claim, {0.8, "The KV cache of one request does not fit the GPU",
                      "The model's longest context needs more KV cache than the weights leave.",
                      log.first("vllm-kv-small")});
  const Observation* share = log.last("vllm-share");
  const bool generous = share == nullptr || number_of(*share, "fraction").value_or(0.9) >= 0.7;
  keep_surest(claim, {generous ? 0.65 : 0.3, "The weights leave nothing for the KV cache",
                      "The weights and the profiling run fill the share that the server may use.",
                      log.first("vllm-no-blocks")});
  const Observation* cache = log.last("vllm-kv-memory");
  if (cache != nullptr && cache->value("kv").starts_with('-')) {
    keep_surest(claim,
                {generous ? 0.62 : 0.3, "Nothing is left for the KV cache",
                 "The weights and the profiling run take more than the server's share.", cache});
  }
  keep_surest(claim, {0.5, "Model and KV cache are larger than the server's share of the GPU", "",
                      log.first("sglang-memory")});
  keep_surest(claim,
              {0.5, "The model does not fit the GPU",
               "ollama finds too little memory for a single layer.", log.first("ollama-no-fit")});
}

// The shell's "Killed" after the machine stood still: with little RAM and no container, the kernel
// ended the process that took it all.
const Observation* killed_after_standstill(const LogSubject& subject) {
  constexpr Bytes little{17ULL << 30U};
  const bool small = subject.scene.ram && *subject.scene.ram <= little;
  if (!small || !subject.log.seen("said-to-freeze") || !container_engine(subject.scene).empty()) {
    return nullptr;
  }
  for (const Observation* one : subject.log.of("killed")) {
    if (trim(one->text) == "Killed") return one;
  }
  return nullptr;
}

// Something was killed, and `free` shows that neither RAM nor swap is left.
const Observation* killed_without_swap(const LogSubject& subject) {
  if (!subject.log.seen("swap-used-up") || subject.log.seen("job-killed")) return nullptr;
  return subject.log.first("killed");
}

void add_host_memory(const LogSubject& subject, Claim& claim) {
  const logs::Observations& log = subject.log;
  keep_surest(claim, {0.6, "The job needs more RAM than this machine has",
                      "The machine stood still, and then the process was killed. Linux does both "
                      "when RAM runs out.",
                      killed_after_standstill(subject)});
  keep_surest(claim, {0.6, "The machine ran out of RAM and swap, and a process was killed",
                      "The whole machine's swap is used up, so it was no container's limit. Fewer "
                      "processes at a time, or more swap, help.",
                      killed_without_swap(subject)});
  keep_surest(claim, {0.7, "The model needs more RAM than the machine has free", "",
                      log.first("ollama-no-ram")});
  keep_surest(claim, {0.6, "The machine ran out of RAM and the kernel killed a process",
                      "The kernel names no control group, so all of the RAM was in use, not just a "
                      "container's share.",
                      log.first("host-oom-kill")});
  keep_surest(claim, {0.45, "Host memory ran out", "", log.first("host-alloc")});
}

// ROCm's runtime tells how much was free when a kernel could not get what it needs; scratch memory
// for its registers is taken at that moment.
void add_ended_queue(const LogSubject& subject, Claim& claim) {
  const Observation* ended = subject.log.first("queue-out-of-memory");
  const auto free = ended != nullptr ? amount_of(*ended, "free") : std::nullopt;
  if (!free || *free > 512_MiB) return;
  keep_surest(claim,
              {0.6,
               fmt::format("Only {} of GPU memory was free, too little for a GPU kernel to run",
                           to_string(*free)),
               "A GPU kernel takes its scratch memory from what the job leaves free.", ended});
}

// TensorFlow's allocator tells how much it may take and how much is in use.
Claim of_arena(const LogSubject& subject) {
  const Observation* failed = subject.log.first_of({"tf-oom", "tf-oom-tensor"});
  const auto arena = tensorflow_arena(subject.log);
  if (failed == nullptr || !arena || part_of(arena->used, arena->limit) < 0.8) return {};
  return {0.8,
          fmt::format("The job uses {} of the {} that TensorFlow may use", to_string(arena->used),
                      to_string(arena->limit)),
          "According to the allocator, live tensors fill it.", failed};
}

double trust_in_size(const LogSubject& subject) {
  const auto pool = apu_pool(subject);
  if (!pool) return 1;
  return pool->carve_out_is_idle() || pool->limit_is_half_of_ram() ? 0.4 : 0.75;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  Claim claim;
  const auto failed = failed_allocation(subject);
  const double trust = trust_in_size(subject);
  // vLLM's check at the start comes before the job has taken anything.
  if (failed && failed->seen->id() != "vllm-startup-memory") {
    keep_surest(claim, of_figures(*failed, read_figures(*failed), trust));
    Claim model = of_model(subject, *failed);
    model.sure *= trust;
    keep_surest(claim, std::move(model));
  }
  keep_surest(claim, of_arena(subject));
  add_servers(subject, claim);
  const Observation* wish = subject.log.first("tf-alloc");
  if (wish != nullptr && !recovered(subject.log, *wish)) {
    keep_surest(claim, {0.4, "TensorFlow gets less GPU memory than it plans with", "", wish});
  }
  add_host_memory(subject, claim);
  add_ended_queue(subject, claim);
  if (claim.seen == nullptr) return std::nullopt;
  Hypothesis big;
  big.confidence = claim.sure;
  big.title = claim.title;
  if (!claim.reason.empty()) big.reasons.push_back(claim.reason);
  if (failed && failed->seen != claim.seen) big.evidence.push_back(show(subject, *failed->seen));
  big.evidence.insert(big.evidence.begin(), show(subject, *claim.seen));
  big.fix = {
      sentence(
          "Run headroom plan: it shows what the job needs on this GPU, and which settings fit."),
      sentence(
          "Make the job smaller: batch size, context length (llama.cpp -c, vLLM --max-model-len), "
          "a smaller quantisation, fewer layers on the GPU (-ngl), gradient checkpointing."),
      sentence("Or split it over several GPUs.")};
  advise_convolutions(subject, big);
  big.alternatives = {
      {"vram-held-by-other", 0.2, "rocm-smi --showmeminfo vram --showpids, with the job stopped"},
      {"fragmentation", 0.1, std::string(cache_contents(framework_of(*claim.seen)))}};
  weigh_growth(subject, big);
  return big;
}

}  // namespace

constinit const CauseRule job_too_big_cause = {
    .id = "job-too-big",
    .meaning = "The job really needs more memory than the GPU has.",
    .why =
        "Weights, KV cache, activations and optimizer state are larger than the card. A discrete "
        "card does not spill to system memory. The kernel also lists GTT, but hipMalloc does not "
        "use it there.",
    .fix = "Make the job smaller, split it, or use a larger GPU.",
    .explains = "app-bug framework-bug crash-loop",
    .next = &NextCommand::plan,
    .find = find,
};

}  // namespace headroom::findings
