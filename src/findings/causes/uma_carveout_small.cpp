// SPDX-License-Identifier: Apache-2.0
// uma-carveout-small: on an APU the program sees or gets only the BIOS carve-out. Kernels before
// 6.10 give hipMalloc nothing else, and some programs read nothing else.
#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "facts/kernel_text.h"
#include "findings/causes/amounts.h"
#include "findings/causes/apu_pool.h"
#include "findings/causes/causes.h"
#include "findings/causes/two_totals.h"

namespace headroom::findings {
namespace {

// Whether the kernel is new enough that hipMalloc uses system memory if the carve-out is smaller.
bool takes_system_memory(const Scene& scene) {
  const auto version =
      scene.machine.kernel ? facts::parse_kernel_version(*scene.machine.kernel) : std::nullopt;
  return version && *version >= facts::KernelVersion{6, 10, 0};
}

// Whether a server keeps a part of the model from the GPU, because it counts less than the model
// needs, although the machine has several times as much RAM.
bool keeps_layers_back(const LogSubject& subject, const ApuPool& pool) {
  static const RE2 layers(R"(layers\.model=(\d+) layers\.offload=(\d+))");
  if (!pool.limit || !pool.ram || part_of(*pool.limit, *pool.ram) > 0.3) return false;
  for (const logs::Observation* plan : subject.log.of("ollama-plan")) {
    std::uint64_t all = 0, on_gpu = 0;
    if (RE2::PartialMatch(plan->text, layers, &all, &on_gpu) && on_gpu < all) return true;
  }
  return false;
}

double sure_of(const LogSubject& subject, const ApuPool& pool) {
  if (subject.log.seen("ollama-igpu-skipped")) return 0.85;
  if (pool.limit && *pool.limit <= 4_GiB && keeps_layers_back(subject, pool)) return 0.8;
  const bool failed = pool.failure != nullptr ||
                      subject.log.any_of({"ollama-no-fit", "ollama-low-vram", "memory-not-freed"});
  // Nothing tells what the job may get; a small carve-out that is known is then the likelier limit.
  if (failed && !pool.limit && !pool.pages_limit && pool.carve_out && *pool.carve_out <= 4_GiB) {
    return takes_system_memory(subject.scene) ? 0.3 : 0.6;
  }
  // OpenCL says itself how little it offers, whether or not a job was tried with it.
  const bool offers_little = pool.seen != nullptr && pool.seen->id() == "opencl-memory";
  if (!failed && offers_little && *pool.limit <= 1_GiB) return 0.55;
  if (!failed || !pool.limit || pool.limit_is(pool.pages_limit)) return 0;
  if (pool.counts_carve_out) return 0.78;
  if (*pool.limit <= 4_GiB) return 0.8;
  const bool small = pool.ram ? part_of(*pool.limit, *pool.ram) < 0.35 : *pool.limit <= 8_GiB;
  if (!small || pool.limit_is_half_of_ram()) return 0;
  if (pool.limit_is(pool.carve_out)) return takes_system_memory(subject.scene) ? 0.65 : 0.8;
  return pool.carve_out ? 0 : 0.4;
}

// An earlier start of the server counted the memory that the GPU shares; this one counts what the
// BIOS sets aside alone.
std::optional<Hypothesis> find_shrunken(const LogSubject& subject) {
  const TwoTotals totals = find_two_totals(subject);
  if (totals.after == nullptr || !is_carve_out(totals.less)) return std::nullopt;
  const bool integrated = subject.scene.integrated_gpu() != nullptr ||
                          totals.after->text.find("type=iGPU") != std::string::npos;
  if (!integrated) return std::nullopt;
  Hypothesis small;
  small.confidence = 0.72;
  small.title = fmt::format("Only the BIOS carve-out of {} is counted now, {} instead of {}",
                            apu_name(subject), to_string(totals.less), to_string(totals.more));
  small.reasons.emplace_back(
      "It is the same GPU, whose memory did not shrink. Another release of the server asks another "
      "layer, which knows the carve-out alone.");
  small.evidence = {show(subject, *totals.after, "what it counts now"),
                    show(subject, *totals.before, "what it counted before")};
  small.fix = {
      sentence("Use the release that counted all of it, or a later one that adds GTT again."),
      sentence("Or tell the server how many layers go to the GPU: num_gpu."),
      sentence("Or give the GPU more memory in the BIOS: UMA Frame Buffer Size.")};
  small.alternatives = {{"framework-bug", 0.15, "the same start with the release before"}};
  return small;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  if (auto shrunken = find_shrunken(subject)) return shrunken;
  const auto pool = apu_pool(subject);
  if (!pool) return std::nullopt;
  Hypothesis small;
  small.confidence = sure_of(subject, *pool);
  if (small.confidence <= 0) return std::nullopt;
  const logs::Observation* skipped = subject.log.first("ollama-igpu-skipped");
  auto limit = skipped != nullptr ? amount_of(*skipped, "total") : pool->limit;
  if (!limit) limit = pool->carve_out;
  small.title = fmt::format("Only the BIOS carve-out of {} is counted{}", apu_name(subject),
                            limit ? ", " + to_string(*limit) : std::string());
  if (skipped != nullptr) {
    small.reasons.emplace_back(
        "ollama leaves out integrated GPUs whose carve-out is below 1 GiB; BIOS defaults are "
        "512 MiB.");
    small.evidence.push_back(show(subject, *skipped));
  } else {
    small.reasons.push_back(
        fmt::format("The job sees {} in all. This does not include the rest of the RAM, which "
                    "graphics reaches through GTT.",
                    limit ? to_string(*limit) : "little"));
  }
  show_pool(subject, *pool, small);
  small.fix = {
      sentence("Give the GPU more memory in the BIOS: UMA Frame Buffer Size (or iGPU memory), 4G "
               "or more."),
      sentence("Or boot Linux 6.10 or later (6.16.9 or later is best). hipMalloc then takes system "
               "memory."),
      sentence("Or use the program's Vulkan build, which uses the carve-out and GTT together.")};
  small.alternatives = {{"kernel-too-old", 0.25, "uname -r   (below 6.10)"},
                        {"ttm-cap", 0.1, "headroom check"},
                        {"gpu-unsupported", 0.15, "rocminfo | grep gfx"}};
  return small;
}

}  // namespace

constinit const CauseRule uma_carveout_small_cause = {
    .id = "uma-carveout-small",
    .meaning = "The job can use, or counts, only the small BIOS carve-out of an APU.",
    .why =
        "The BIOS gives an integrated GPU 512 MiB to a few GiB. Older kernels offer hipMalloc "
        "nothing else, and some programs look at nothing else.",
    .fix = "Enlarge the carve-out in the BIOS, boot a newer kernel, or use Vulkan.",
    .explains =
        "job-too-big vram-held-by-other free-memory-misreported fragmentation app-bug "
        "framework-bug crash-loop",
    .find = find,
};

}  // namespace headroom::findings
