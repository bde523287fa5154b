// SPDX-License-Identifier: Apache-2.0
// free-memory-misreported: the program's figure for free memory contradicts the device's, or
// itself: less than the driver has left, more than the card holds, or gone by the program's own
// doing a moment before. Where it believes in too much because another program holds the rest, the
// other program is the cause.
#include <fmt/format.h>

#include "findings/causes/amounts.h"
#include "findings/causes/causes.h"
#include "findings/causes/device_memory.h"
#include "findings/causes/shortfall.h"

namespace headroom::findings {
namespace {

using logs::Observation;

struct Claim {
  double sure = 0;
  std::string title, reason;
  std::vector<const Observation*> lines;
};

void keep_surest(Claim& claim, Claim other) {
  if (other.sure > claim.sure) claim = std::move(other);
}

// The driver has more left than the program sees, or less.
Claim against_driver(const LogSubject& subject, const DeviceMemory& memory) {
  if (!memory.vram_total || !memory.vram_used) return {};
  auto job_free = memory.job_free;
  const auto failed = failed_allocation(subject);
  if (!job_free && failed && failed->free) job_free = SeenAmount{*failed->free, failed->seen};
  if (!job_free) return {};
  const Bytes total = memory.vram_total->amount;
  const Bytes left = saturating_sub(total, memory.vram_used->amount);
  const Bytes believed = job_free->amount;
  const std::string sum = fmt::format(
      "By the driver {} of {} is in use, which leaves {}; the program reads {}.",
      to_string(memory.vram_used->amount), to_string(total), to_string(left), to_string(believed));
  if (left > believed + 1_GiB && part_of(left - believed, total) >= 0.15) {
    return {memory.unified ? 0.79 : 0.65,
            fmt::format("{} is free, and the program believes in {}", to_string(left),
                        to_string(believed)),
            sum,
            {job_free->seen, memory.vram_used->seen}};
  }
  if (believed > left + 1_GiB && part_of(believed - left, total) >= 0.1) {
    return {0.35,
            fmt::format("The program believes in {} free, and {} is left", to_string(believed),
                        to_string(left)),
            sum,
            {job_free->seen, memory.vram_used->seen}};
  }
  return {};
}

// TensorFlow asks for most of what it believes free; no GPU has this much.
Claim of_nonsense(const LogSubject& subject) {
  for (const Observation* one : subject.log.of("tf-alloc")) {
    const auto asked = amount_of(*one, "asked");
    if (!asked || *asked < 8192_GiB) continue;
    return {0.8,
            fmt::format("{} is believed to be free", to_string(*asked)),
            "TensorFlow asks for the share of free memory that it may take; no GPU has that much, "
            "so the figure that it got is no figure.",
            {one}};
  }
  return {};
}

// Figures of the program that cannot both be true.
Claim against_itself(const LogSubject& subject, const DeviceMemory& memory) {
  for (const FailedAllocation& failed : failed_allocations(subject.log)) {
    if (!failed.free || !failed.capacity || *failed.free <= *failed.capacity) continue;
    return {0.9,
            fmt::format("{} is reported free of {}", to_string(*failed.free),
                        to_string(*failed.capacity)),
            "More than there is cannot be free: two layers are read, and one of them is not what "
            "the job allocates from.",
            {failed.seen}};
  }
  const bool small_part = memory.unified && memory.job_free && memory.job_total &&
                          part_of(memory.job_free->amount, memory.job_total->amount) < 0.4 &&
                          memory.holders.empty();
  const Observation* ollama = subject.log.first("ollama-memory");
  if (small_part && ollama != nullptr && memory.job_free->seen == ollama) {
    return {0.55,
            fmt::format("ollama counts {} of {} as free on this APU",
                        to_string(memory.job_free->amount), to_string(memory.job_total->amount)),
            "On an APU some versions take the system's free RAM for the GPU's, which leaves out "
            "the carve-out.",
            {ollama}};
  }
  return {};
}

// The server had memory for its cache, and finds it gone at its own second look.
Claim of_planning(const LogSubject& subject, const DeviceMemory& memory) {
  const Observation* check = subject.log.first("vllm-startup-memory");
  const Observation* cache = subject.log.first("vllm-kv-memory");
  if (check == nullptr || cache == nullptr || check->line < cache->line) return {};
  const auto kv = amount_of(*cache, "kv"), card = amount_of(*check, "capacity");
  if (!kv || !card || part_of(*kv, *card) < 0.3) return {};
  return {memory.no_processes != nullptr ? 0.75 : 0.65,
          fmt::format("vLLM had {} for its cache and then finds {} GiB free: its plan is wrong",
                      to_string(*kv), check->value("free_gib")),
          "The memory went to this very run. The estimate before it counted too little for the "
          "graphs and the profiling run.",
          {check, cache}};
}

Claim of_refusal(const LogSubject& subject) {
  const auto failed = failed_allocation(subject);
  if (!failed) return {};
  const Reading reading = read_figures(*failed);
  if (reading.of(Shortfall::refused_with_room) <= 0) return {};
  return {reading.of(Shortfall::refused_with_room),
          fmt::format("{} is refused although {} is reported free", to_string(*failed->asked),
                      to_string(*failed->free)),
          reading.sum + " Either that figure is wrong, or a limit outside of it applies.",
          {failed->seen}};
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  if (ran_well(subject.log)) return std::nullopt;
  const DeviceMemory memory = device_memory(subject);
  Claim claim = against_driver(subject, memory);
  keep_surest(claim, against_itself(subject, memory));
  keep_surest(claim, of_planning(subject, memory));
  keep_surest(claim, of_refusal(subject));
  keep_surest(claim, of_nonsense(subject));
  if (claim.sure <= 0) return std::nullopt;
  Hypothesis wrong;
  wrong.confidence = claim.sure;
  wrong.title = claim.title;
  wrong.reasons.push_back(claim.reason);
  for (const Observation* line : claim.lines) {
    wrong.evidence.push_back(show(subject, *line));
  }
  wrong.fix = {
      "compare the two: cat /sys/class/drm/card*/device/mem_info_vram_used, and python -c 'import "
      "torch; print(torch.cuda.mem_get_info())'",
      "tell the program how much it may take instead of letting it measure: vLLM "
      "--gpu-memory-utilization or --kv-cache-memory-bytes, llama.cpp -ngl, ollama num_gpu",
      "look for a newer release of that program; this is reported and mended per program"};
  wrong.alternatives = {{"vram-held-by-other", memory.no_processes != nullptr ? 0.15 : 0.3,
                         "amdgpu_top, with the job stopped"},
                        {"framework-bug", 0.2, "the same job with the program's previous release"}};
  return wrong;
}

}  // namespace

constinit const CauseRule free_memory_misreported_cause = {
    .id = "free-memory-misreported",
    .meaning = "The tool computes free memory wrongly.",
    .why =
        "HIP's figure counts compute programs only, tools for APUs add up or mix carve-out, GTT "
        "and RAM, and servers plan with estimates. A plan on a wrong figure fails or wastes half.",
    .fix = "Give the program an amount instead of letting it measure; update it.",
    .explains = "app-bug framework-bug crash-loop",
    .find = find,
};

}  // namespace headroom::findings
