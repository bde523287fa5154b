// SPDX-License-Identifier: Apache-2.0
// free-memory-misreported: the program's figure for free memory contradicts the device's, or
// itself: it is less than the driver has left, more than the card has, or memory that the program
// itself used up a moment before. If the figure is too large because another program holds the
// rest, that program is the cause.
#include <fmt/format.h>

#include <algorithm>

#include "findings/causes/amounts.h"
#include "findings/causes/causes.h"
#include "findings/causes/device_memory.h"
#include "findings/causes/free_memory_claim.h"
#include "findings/causes/shortfall.h"
#include "findings/causes/two_totals.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// The driver has more, or less, memory left than the program sees.
FigureClaim against_driver(const LogSubject& subject, const DeviceMemory& memory) {
  if (!memory.vram_total || !memory.vram_used || memory.is_share) return {};
  auto job_free = memory.job_free;
  // What a server measured at its start is outdated when it plans.
  if (const Observation* plan = subject.log.last("ollama-plan")) {
    if (const auto planned = amount_of(*plan, "free")) job_free = SeenAmount{*planned, plan};
  }
  const auto failed = failed_allocation(subject);
  if (!job_free && failed && failed->free) job_free = SeenAmount{*failed->free, failed->seen};
  if (!job_free) return {};
  const Bytes total = memory.vram_total->amount;
  const Bytes left = saturating_sub(total, memory.vram_used->amount);
  const Bytes believed = job_free->amount;
  const std::string sum = fmt::format(
      "According to the driver {} of {} is in use, which leaves {}. The program reads {}.",
      to_string(memory.vram_used->amount), to_string(total), to_string(left), to_string(believed));
  if (left > believed + 1_GiB && part_of(left - believed, total) >= 0.15) {
    return {
        memory.unified ? 0.79 : 0.65,
        fmt::format("{} is free, but the program assumes {}", to_string(left), to_string(believed)),
        sum,
        {job_free->seen, memory.vram_used->seen}};
  }
  if (believed > left + 1_GiB && part_of(believed - left, total) >= 0.1) {
    return {0.35,
            fmt::format("The program assumes {} free, but only {} is left", to_string(believed),
                        to_string(left)),
            sum,
            {job_free->seen, memory.vram_used->seen}};
  }
  return {};
}

// The program's own check says that there is too little, while HIP has more than it asks for.
FigureClaim of_own_check(const LogSubject& subject, const DeviceMemory& memory) {
  const Observation* check = subject.log.first("needs-more-than-available");
  if (check == nullptr || !memory.hip_free) return {};
  const auto wanted = amount_of(*check, "wanted"), believed = amount_of(*check, "free");
  if (!wanted || !believed || memory.hip_free->amount < *wanted + 1_GiB) return {};
  return {0.82,
          fmt::format("HIP reports {} as free, but the program counts on {}",
                      to_string(memory.hip_free->amount), to_string(*believed)),
          fmt::format("It refuses a model of {} that would fit: it does not ask the GPU but, for "
                      "instance, for the system's free RAM.",
                      to_string(*wanted)),
          {check, memory.hip_free->seen}};
}

// ollama plans the next model with what the previous one left free, although that one has been
// unloaded.
FigureClaim of_server_plan(const LogSubject& subject, const DeviceMemory& memory) {
  const Observation* start = subject.log.first("ollama-memory");
  const Observation* plan = subject.log.last("ollama-plan");
  if (start == nullptr || plan == nullptr || !is_before(*start, *plan)) return {};
  const auto at_start = amount_of(*start, "free"), planned = amount_of(*plan, "free");
  if (!at_start || !planned || part_of(*planned, *at_start) > 0.6) return {};
  const std::string title = fmt::format("ollama plans with {} of the {} that it found at start",
                                        to_string(*planned), to_string(*at_start));
  if (memory.vram_used && memory.vram_total && is_before(*plan, *memory.vram_used->seen)) {
    const Bytes left = saturating_sub(memory.vram_total->amount, memory.vram_used->amount);
    if (part_of(*planned, left) > 0.6) return {};
    return {0.85,
            title,
            fmt::format("The driver counts {} in use, which leaves {}: the memory is there.",
                        to_string(memory.vram_used->amount), to_string(left)),
            {plan, memory.vram_used->seen, start}};
  }
  const Observation* again = subject.log.last("ollama-memory");
  const auto after = amount_of(*again, "free");
  if (!is_before(*plan, *again) || !after || part_of(*after, *at_start) < 0.9) return {};
  return {0.7,
          title,
          "After a restart it finds all of it, so nothing else had used it.",
          {plan, again}};
}

// ollama counts one GPU's memory twice, and differently: another release of it asks another layer.
FigureClaim of_two_totals(const LogSubject& subject) {
  const TwoTotals totals = find_two_totals(subject);
  if (totals.after == nullptr) return {};
  // Where it is the carve-out alone, there is a better name for it.
  return {is_carve_out(totals.less) ? 0.5 : 0.7,
          fmt::format("ollama counts {} on the GPU for which it counted {} before",
                      to_string(totals.less), to_string(totals.more)),
          "The GPU's memory did not shrink. The newer start asks another layer, which on an "
          "integrated GPU may know the carve-out alone.",
          {totals.after, totals.before}};
}

// ollama found the GPU, and read no memory for it.
FigureClaim of_no_memory(const LogSubject& subject) {
  const Observation* none = subject.log.first("ollama-sees-no-memory");
  if (none == nullptr) return {};
  return {0.65,
          "ollama found the GPU, but reads 0 B for its memory",
          "Every GPU that the driver offers has memory, so the figure is wrong, not the card.",
          {none}};
}

// TensorFlow asks for most of what it takes to be free, and no GPU has that much.
FigureClaim of_nonsense(const LogSubject& subject) {
  for (const Observation* one : subject.log.of("tf-alloc")) {
    const auto asked = amount_of(*one, "asked");
    if (!asked || *asked < 8192_GiB) continue;
    return {0.8,
            fmt::format("The program assumes that {} is free", to_string(*asked)),
            "TensorFlow asks for its share of the free memory. No GPU has that much, so the figure "
            "that it read is invalid.",
            {one}};
  }
  return {};
}

// HIP says that next to nothing is free, and no program, tool or message tells who has it. A card
// in use still has pages left over; a figure like 4096 is an error code that was read as an amount.
FigureClaim of_nothing_free(const LogSubject& subject, const DeviceMemory& memory) {
  const bool is_nothing = memory.hip_free && memory.hip_free->amount < 1_MiB;
  const bool is_held = !memory.holders.empty() || memory.vram_used || failed_allocation(subject);
  if (!is_nothing || is_held) return {};
  if (const Observation* segment = subject.log.first("dxg-no-segment")) {
    return {0.85,
            fmt::format("HIP says that {} is free", to_string(memory.hip_free->amount)),
            "In WSL the runtime asks Windows, found no figure for the card's memory, and counts it "
            "as full.",
            {memory.hip_free->seen, segment}};
  }
  return {
      memory.no_processes != nullptr ? 0.75 : 0.6,
      fmt::format("HIP says that {} is free", to_string(memory.hip_free->amount)),
      "Nothing shows that another process holds the rest, and even a card in use has more left.",
      {memory.hip_free->seen}};
}

// Two figures of the program cannot both be true.
FigureClaim against_itself(const LogSubject& subject, const DeviceMemory& memory) {
  for (const FailedAllocation& failed : failed_allocations(subject.log)) {
    if (!failed.free || !failed.capacity || *failed.free <= *failed.capacity) continue;
    return {0.9,
            fmt::format("{} of {} is reported free", to_string(*failed.free),
                        to_string(*failed.capacity)),
            "More than the total cannot be free. The program reads two different layers, and one "
            "of them is not the memory that the job uses.",
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
            "On an APU some versions use the system's free RAM as the GPU's, which leaves out the "
            "carve-out.",
            {ollama}};
  }
  return {};
}

// The server had memory for its cache, and at its own second look finds it gone.
FigureClaim of_planning(const LogSubject& subject, const DeviceMemory& memory) {
  const Observation* check = subject.log.first("vllm-startup-memory");
  const Observation* cache = subject.log.first("vllm-kv-memory");
  if (check == nullptr || cache == nullptr || check->line < cache->line) return {};
  const auto kv = amount_of(*cache, "kv"), card = amount_of(*check, "capacity");
  if (!kv || !card || part_of(*kv, *card) < 0.3) return {};
  return {memory.no_processes != nullptr ? 0.75 : 0.65,
          fmt::format("vLLM took {} for its cache and then finds {} GiB free: its plan is wrong",
                      to_string(*kv), check->value("free_gib")),
          "This run itself used the memory. The estimate counted too little for the graphs and the "
          "profiling run.",
          {check, cache}};
}

// A person read from a tool of the driver that the memory is free, which the program denies.
FigureClaim of_what_is_said(const LogSubject& subject, const DeviceMemory& memory) {
  const Observation* said = subject.log.first("free-in-truth");
  const auto failed = failed_allocation(subject);
  const Observation* refused = failed ? failed->seen : subject.log.first("ollama-no-fit");
  if (said == nullptr || (refused == nullptr && !memory.job_free)) return {};
  auto real = amount_of(*said, "free");
  if (!real) real = amount_of(*said, "free_1");
  const auto believed = failed && failed->free ? failed->free
                        : memory.job_free      ? std::optional(memory.job_free->amount)
                                               : std::nullopt;
  if (real && believed && part_of(*believed, *real) > 0.8) return {};
  FigureClaim claim{
      real && believed ? 0.68 : 0.5,
      "The memory is said to be free, but the program says that it is not",
      "If the driver's tools show what the report says, the program's own figure is wrong. "
      "Only the report says so; no line shows it.",
      {said}};
  if (real && believed) {
    claim.title = fmt::format("{} is said to be free, but the program assumes {}", to_string(*real),
                              to_string(*believed));
  }
  claim.lines.push_back(refused != nullptr ? refused : memory.job_free->seen);
  return claim;
}

// ollama chooses how many layers the GPU gets by what it believes is free. If it kept some of them
// from the GPU, and an allocation is refused all the same, then it believed in too much.
FigureClaim of_chosen_split(const LogSubject& subject) {
  const Observation* refused = subject.log.first_of({"hip-oom", "ggml-oom", "ggml-error-oom"});
  const Observation* kept = subject.log.first("llama-layers-kept");
  if (refused == nullptr || kept == nullptr) return {};
  const bool by_ollama = kept->text.find("ollama") != std::string::npos ||
                         refused->text.find("ollama") != std::string::npos ||
                         subject.log.any_of({"ollama-memory", "ollama-plan", "ollama-version",
                                             "ollama-settings", "ollama-device"});
  if (!by_ollama) return {};
  return {0.55,
          "ollama chose how much goes to the GPU, and it did not fit",
          "It kept a part of the model in RAM, so it had taken the GPU's free memory into account. "
          "That figure leaves out what other programs hold, or ollama's estimate is too low.",
          {refused, kept}};
}

// The same program of an earlier release found room for the same job.
FigureClaim of_newer_release(const LogSubject& subject) {
  const Observation* said = subject.log.first("program-regressed");
  const Observation* refused = subject.log.first("ollama-no-fit");
  if (said == nullptr || refused == nullptr) return {};
  return {0.6,
          "ollama finds too little memory since an update",
          "An earlier release is said to have found enough memory for the same job on the same "
          "GPU, and no line shows that the memory is in use.",
          {refused, said}};
}

FigureClaim of_refusal(const LogSubject& subject) {
  const auto failed = failed_allocation(subject);
  if (!failed) return {};
  const Reading reading = read_figures(*failed);
  if (reading.of(Shortfall::refused_with_room) <= 0) return {};
  return {is_tiny_beside_free(*failed) ? 0.34 : reading.of(Shortfall::refused_with_room),
          fmt::format("A request for {} fails although {} is reported free",
                      to_string(*failed->asked), to_string(*failed->free)),
          reading.sum + " Either that figure is wrong, or another limit applies.",
          {failed->seen}};
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const DeviceMemory memory = device_memory(subject);
  // A server may answer, and then put the next model where it does not belong.
  constexpr double sure_though_served = 0.75;
  const bool ran = ran_well(subject.log);
  FigureClaim claim = ran ? of_server_plan(subject, memory) : against_driver(subject, memory);
  if (ran && claim.sure < sure_though_served) return std::nullopt;
  keep_surest(claim, against_itself(subject, memory));
  keep_surest(claim, of_nothing_free(subject, memory));
  keep_surest(claim, of_more_than_ram(subject, memory));
  keep_surest(claim, of_share_of_shared_memory(subject, memory));
  keep_surest(claim, of_carve_out_alone(memory));
  keep_surest(claim, of_little_at_start(subject, memory));
  keep_surest(claim, of_planning(subject, memory));
  keep_surest(claim, of_refusal(subject));
  keep_surest(claim, of_nonsense(subject));
  keep_surest(claim, of_no_memory(subject));
  keep_surest(claim, of_two_totals(subject));
  keep_surest(claim, of_available_ram(memory));
  keep_surest(claim, of_own_check(subject, memory));
  keep_surest(claim, of_server_plan(subject, memory));
  keep_surest(claim, of_what_is_said(subject, memory));
  keep_surest(claim, of_chosen_split(subject));
  keep_surest(claim, of_newer_release(subject));
  if (claim.sure <= 0) return std::nullopt;
  Hypothesis wrong;
  wrong.confidence = claim.sure;
  wrong.title = claim.title;
  wrong.reasons.push_back(claim.reason);
  for (const Observation* line : claim.lines) {
    wrong.evidence.push_back(show(subject, *line));
  }
  wrong.fix = {
      sentence("Compare the two: cat /sys/class/drm/card*/device/mem_info_vram_used, and python -c "
               "'import torch; print(torch.cuda.mem_get_info())'"),
      sentence(
          "Tell the program how much memory it may use instead of letting it measure: vLLM "
          "--gpu-memory-utilization or --kv-cache-memory-bytes, llama.cpp -ngl, ollama num_gpu"),
      sentence(
          "Look for a newer release of that program. Each program reports and fixes this itself.")};
  wrong.alternatives = {{"vram-held-by-other", memory.no_processes != nullptr ? 0.15 : 0.3,
                         "amdgpu_top, with the job stopped"},
                        {"framework-bug", 0.2, "the same job with the program's previous release"}};
  return wrong;
}

}  // namespace

constinit const CauseRule free_memory_misreported_cause = {
    .id = "free-memory-misreported",
    .meaning = "The program computes free memory wrongly.",
    .why =
        "HIP's figure counts compute programs only. Tools for APUs add or mix up carve-out, GTT "
        "and RAM. Servers plan with estimates. A plan based on a wrong figure fails, or wastes "
        "half of the memory.",
    .fix = "Give the program an amount instead of letting it measure. Update it.",
    .explains = "app-bug framework-bug crash-loop",
    .find = find,
};

}  // namespace headroom::findings
