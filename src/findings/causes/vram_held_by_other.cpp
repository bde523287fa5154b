// SPDX-License-Identifier: Apache-2.0
// vram-held-by-other: a living process holds the memory that the job wants. A process list names
// it, or it must exist because the card is fuller than the job explains and no job was killed
// before. ROCm's own "free" leaves graphics programs out.
#include <fmt/format.h>

#include <algorithm>

#include "findings/causes/amounts.h"
#include "findings/causes/causes.h"
#include "findings/causes/device_memory.h"
#include "findings/causes/shortfall.h"

namespace headroom::findings {
namespace {

struct Claim {
  double sure = 0;
  std::string title, reason;
  const logs::Observation* seen = nullptr;
};

void keep_surest(Claim& claim, Claim other) {
  if (other.seen != nullptr && other.sure > claim.sure) claim = std::move(other);
}

// Whether the driver counts less than half of that memory as in use.
bool driver_denies(const DeviceMemory& memory, const FailedAllocation& failed) {
  if (!memory.vram_used || !memory.vram_total || !failed.capacity) return false;
  const double same = part_of(memory.vram_total->amount, *failed.capacity);
  return same > 0.9 && same < 1.1 &&
         memory.vram_used->amount.value < failed.unaccounted().value_or(Bytes{}).value / 2;
}

// llama.cpp's buffers would fit into an empty card, and yet one was refused.
Claim of_buffers(const DeviceMemory& memory, const FailedAllocation& failed) {
  const bool told = failed.allocated && failed.asked && failed.capacity && !failed.free;
  if (!told || memory.unified) return {};
  const Bytes need = *failed.allocated + *failed.asked;
  if (part_of(need, *failed.capacity) > 0.85) return {};
  return {0.5,
          fmt::format("The job needs only {} of the card's {}, and the request fails",
                      to_string(need), to_string(*failed.capacity)),
          "Other processes must hold the missing memory, because the job itself does not.",
          failed.seen};
}

// TensorFlow reported that much memory, and could not get it a moment later.
Claim of_tensorflow(const LogSubject& subject) {
  const logs::Observation* wish = subject.log.first("tf-alloc");
  const logs::Observation* device = subject.log.first("tf-device");
  if (wish == nullptr || subject.log.count_of("tf-alloc") < 2 || recovered(subject.log, *wish)) {
    return {};
  }
  const auto asked = amount_of(*wish, "asked");
  const auto limit = device != nullptr ? amount_of(*device, "limit") : std::nullopt;
  if (!asked || *asked > 1024_GiB) return {};
  return {limit && *asked <= *limit + 1_GiB ? 0.5 : 0.4,
          fmt::format("TensorFlow expected {} and did not get it", to_string(*asked)),
          "The memory that was reported free is in use: another process has it.", wish};
}

// The message's own figures leave memory unaccounted for.
Claim of_figures(const LogSubject& subject, const DeviceMemory& memory,
                 const FailedAllocation& failed) {
  const Reading reading = read_figures(failed);
  double sure = reading.of(Shortfall::others);
  const auto others = failed.unaccounted();
  // vLLM checks before it takes anything, so everything in use belongs to others …
  if (failed.seen->id() == "vllm-startup-memory" && others && *others >= 512_MiB) {
    sure = std::max(sure, 0.55);
    // … unless vLLM itself took it a moment before.
    if (subject.log.seen("vllm-kv-memory")) sure = std::min(sure, 0.45);
  }
  if (sure <= 0 || driver_denies(memory, failed)) return {};
  const Bytes held = std::max(failed.named_others, others.value_or(Bytes{}));
  return {sure,
          fmt::format("Other processes hold {} of the card's {}", to_string(held),
                      to_string(*failed.capacity)),
          reading.sum, failed.seen};
}

// The driver counts memory in use that is not the job's, and the request does not fit beside it.
Claim of_driver(const DeviceMemory& memory, const FailedAllocation& failed) {
  if (!memory.vram_used || !memory.vram_total || memory.unified) return {};
  const Bytes used = memory.vram_used->amount, total = memory.vram_total->amount;
  const Bytes own = failed.allocated.value_or(Bytes{}) + failed.idle.value_or(Bytes{});
  const Bytes others = saturating_sub(used, own);
  if (others < 1_GiB || part_of(others, total) < 0.1) return {};
  const Bytes left = saturating_sub(total, used);
  const bool in_the_way = failed.asked && *failed.asked <= total && *failed.asked > left;
  const bool believed = memory.job_free && memory.job_free->amount > left + 1_GiB;
  const double sure = in_the_way && believed ? 0.88 : in_the_way ? 0.75 : believed ? 0.6 : 0.35;
  return {sure,
          memory.is_share
              ? fmt::format("{:.0f} % of the GPU's memory is in use", 100 * part_of(used, total))
              : fmt::format("{} of {} VRAM is in use by other programs", to_string(others),
                            to_string(total)),
          believed
              ? fmt::format("The driver counts {} in use, but the job assumes that {} is free. "
                            "hipMemGetInfo leaves out what graphics and Vulkan programs hold.",
                            to_string(used), to_string(memory.job_free->amount))
          : memory.is_share ? std::string("The tools tell the share, not the amount.")
                            : fmt::format("The driver counts {} in use, and {} is left.",
                                          to_string(used), to_string(left)),
          memory.vram_used->seen};
}

// Whether the process that ran out of memory holds most of the card itself, and the list of
// processes names nobody else with much of it.
bool holds_it_itself(const DeviceMemory& memory, const FailedAllocation& failed) {
  const SeenHolder* itself = writer_of(memory, *failed.seen);
  constexpr double most_of_it = 0.5;
  if (itself == nullptr || !failed.capacity) return false;
  if (part_of(itself->vram, *failed.capacity) < most_of_it) return false;
  return std::none_of(
      memory.holders.begin(), memory.holders.end(),
      [itself](const SeenHolder& one) { return one.pid != itself->pid && one.vram >= 1_GiB; });
}

// A process list names another process.
Claim of_list(const LogSubject& subject, const DeviceMemory& memory) {
  const auto failed = failed_allocation(subject);
  const SeenHolder* largest = nullptr;
  const SeenHolder* itself = failed ? writer_of(memory, *failed->seen) : nullptr;
  for (const SeenHolder& one : memory.holders) {
    if (&one == itself) continue;
    if (largest == nullptr || one.vram > largest->vram) largest = &one;
  }
  if (largest == nullptr || !failed) return {};
  // After a kill this may be the rest of the job.
  const logs::Observation* kill = subject.log.first("job-killed");
  if (kill != nullptr && is_before(*kill, *failed->seen)) return {};
  if (largest->told && largest->vram < 1_GiB) return {};
  const bool unseen = largest->program == "UNKNOWN";
  return {
      largest->vram.value > 0 ? 0.85 : 0.6,
      fmt::format("{} (PID {}) holds {}",
                  unseen ? "A process that is not visible here" : largest->program, largest->pid,
                  largest->vram.value > 0 ? to_string(largest->vram) : "the GPU as well"),
      unseen ? "The driver lists a PID that does not exist here. The process runs on the host or "
               "in another container."
             : "The process list shows another process with memory on this GPU.",
      largest->seen};
}

// A program planned as many layers as should fit, was refused all the same, and a list of programs
// has some that draw: the figure for free memory leaves theirs out.
Claim of_graphics(const LogSubject& subject, const DeviceMemory& memory,
                  const FailedAllocation& failed) {
  const logs::Observation* program = subject.log.first("graphics-program");
  const logs::Observation* offload = subject.log.last("llama-offload");
  if (program == nullptr || offload == nullptr || memory.unified || !failed.capacity) return {};
  const bool planned = offload->value("on") != offload->value("all");
  const Bytes own = failed.allocated.value_or(Bytes{});
  if (!planned || part_of(own + failed.asked.value_or(Bytes{}), *failed.capacity) > 0.95) return {};
  return {0.6,
          fmt::format("{} and other graphics programs hold memory on this card",
                      program->value("program")),
          "The number of layers was chosen to fit the memory that was reported free, and ROCm's "
          "figure leaves out what graphics programs hold.",
          program};
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const DeviceMemory memory = device_memory(subject);
  const auto failed = failed_allocation(subject);
  if (failed && holds_it_itself(memory, *failed)) return std::nullopt;
  Claim claim = of_list(subject, memory);
  if (failed) {
    keep_surest(claim, of_figures(subject, memory, *failed));
    keep_surest(claim, of_driver(memory, *failed));
    keep_surest(claim, of_buffers(memory, *failed));
    keep_surest(claim, of_graphics(subject, memory, *failed));
  }
  keep_surest(claim, of_tensorflow(subject));
  keep_surest(claim, {0.7, "Other processes occupy some of the GPUs",
                      "Some GPUs are fuller than others before the server has started.",
                      subject.log.first("sglang-unbalanced")});
  keep_surest(claim, {0.45, "Another process changed the GPU's memory while vLLM measured it", "",
                      subject.log.first("vllm-profile")});
  if (claim.seen == nullptr) return std::nullopt;
  Hypothesis held;
  held.confidence = claim.sure;
  if (const auto* idle = memory.holders_without_memory();
      idle != nullptr && memory.no_processes == nullptr) {
    held.confidence = std::min(claim.sure, 0.5);
    held.reasons.emplace_back("The processes that have the GPU open hold none of its memory.");
    held.evidence.push_back(show(subject, *idle));
  }
  if (memory.no_processes != nullptr) {
    // If a list has no compute processes, graphics programs may hold the memory; in a container, so
    // may everything outside of it.
    held.confidence = std::min(claim.sure, subject.scene.machine.in_container() ? 0.77 : 0.7);
    held.reasons.emplace_back(
        "The list of compute processes is empty. The holder runs on the host or in another "
        "container, or it is a graphics program.");
    held.evidence.push_back(show(subject, *memory.no_processes));
  }
  held.title = claim.title;
  if (!claim.reason.empty()) held.reasons.push_back(claim.reason);
  held.evidence.insert(held.evidence.begin(), show(subject, *claim.seen));
  if (failed && failed->seen != claim.seen) held.evidence.push_back(show(subject, *failed->seen));
  held.fix = {
      sentence_with("On the host, as root, see who it is (rocm-smi --showpids lists compute "
                    "processes only; amdgpu_top also lists games, browsers and the desktop)",
                    "sudo fuser -v /dev/kfd /dev/dri/renderD*"),
      sentence("End it, or make do with what it leaves: a smaller model, fewer layers, or vLLM's "
               "--gpu-memory-utilization below the free share.")};
  held.alternatives = {
      {"vram-orphaned", memory.no_processes != nullptr ? 0.35 : 0.12,
       "sudo fuser -v /dev/kfd /dev/dri/*   (no output: the owner is gone)"},
      {"free-memory-misreported", 0.15, "rocm-smi --showmeminfo vram, with the job stopped"},
      {"job-too-big", 0.1, "headroom plan --model MODEL --gpu auto"}};
  return held;
}

}  // namespace

constinit const CauseRule vram_held_by_other_cause = {
    .id = "vram-held-by-other",
    .meaning = "Another running process holds the GPU memory that the job needs.",
    .why =
        "A second server, a notebook, a game or the desktop uses memory on the same card. Inside a "
        "container such processes are not visible, and ROCm's own figure for free memory leaves "
        "graphics programs out.",
    .fix = "End the other process, or make do with the memory that it leaves.",
    .explains = "job-too-big app-bug framework-bug crash-loop",
    .find = find,
};

}  // namespace headroom::findings
