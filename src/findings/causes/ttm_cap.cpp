// SPDX-License-Identifier: Apache-2.0
// ttm-cap: an APU's pool is half of the RAM, which is TTM's default and was not chosen by anybody.
// gttsize raises only what graphics may use; a pages_limit that was set too late is not in force.
#include <fmt/format.h>

#include "facts/kernel_release.h"
#include "findings/causes/amounts.h"
#include "findings/causes/apu_pool.h"
#include "findings/causes/causes.h"
#include "findings/causes/failed_allocation.h"

namespace headroom::findings {
namespace {

// Whether the card's reported size is all of the RAM and the job stopped at half of it.
bool stopped_at_half(const LogSubject& subject, const ApuPool& pool) {
  const auto failed = failed_allocation(subject);
  if (!failed || !failed->capacity || !failed->allocated || !failed->free) return false;
  if (*failed->capacity < 16_GiB) return false;
  const Bytes ram = pool.ram.value_or(*failed->capacity);
  const double own = part_of(*failed->allocated + failed->idle.value_or(Bytes{}), ram);
  return own > 0.42 && own < 0.535 && part_of(*failed->free, ram) < 0.1 &&
         part_of(*failed->capacity, ram) > 0.85;
}

// Whether the pool is well below what pages_limit asks for, and is not what gttsize asks for
// either.
bool limit_asked_for_is_not_in_force(const ApuPool& pool) {
  if (!pool.limit || !pool.pages_limit || pool.limit_is(pool.gttsize)) return false;
  return !pool.ram && !pool.limit_is(pool.carve_out) &&
         part_of(*pool.limit, *pool.pages_limit) < 0.9;
}

double sure_of(const LogSubject& subject, const ApuPool& pool) {
  if (pool.limit_is(pool.pages_limit)) return 0;
  // A failed job that got far less than the carve-out took system memory, whose limit is TTM's.
  const bool beside = !pool.ram && pool.failure != nullptr && pool.carve_out_is_idle();
  if (beside && !pool.gttsize) return confidence::possible;
  if (!pool.limit_is_half_of_ram()) {
    if (stopped_at_half(subject, pool)) return 0.55;
    return limit_asked_for_is_not_in_force(pool) ? 0.7 : 0;
  }
  // If a larger carve-out lies idle, the kernel or gttsize is the reason.
  if (pool.carve_out_is_idle()) return 0.5;
  if (pool.pages_limit) return 0.7;
  if (pool.failure != nullptr) {
    // If the job asks for more than the RAM, it is too big under any limit.
    const bool beyond = pool.asked && pool.ram && *pool.asked > *pool.ram;
    return beyond ? 0.6 : 0.88;
  }
  // Nothing ran out of memory here, but a setting shows that a person wanted more.
  // A process that dies while it loads a model may have been refused the memory without a word.
  const bool died_loading = subject.log.any_of({"model-load-begun", "llama-offload"}) &&
                            subject.log.any_of({"segfault", "segfault-banner"});
  if (died_loading) return 0.42;
  if (subject.log.first_with(knowledge::Role::failure) != nullptr) return 0.3;
  return pool.gttsize ? 0.8 : 0.5;
}

// A request fits into the carve-out and not into the half of the rest that TTM allows: what fails
// there was not taken from the carve-out.
std::optional<Hypothesis> find_beside_carve_out(const LogSubject& subject, const ApuPool& pool) {
  const logs::Observation* told = subject.log.first("refusal-told");
  auto asked = pool.asked;
  if (!asked && told != nullptr) asked = amount_of(*told, "asked");
  const logs::Observation* failed = pool.failure != nullptr ? pool.failure : told;
  if (failed == nullptr || !asked || !pool.carve_out || !pool.ram || pool.pages_limit) {
    return std::nullopt;
  }
  const Bytes half{pool.ram->value / 2};
  // A message with figures of its own says what the program counts on, and the rules above go by
  // it.
  const auto allocation = failed_allocation(subject);
  if (allocation && (allocation->free || allocation->allocated)) return std::nullopt;
  const facts::Text& kernel = subject.scene.machine.kernel;
  const auto version = kernel ? facts::parse_kernel_version(*kernel) : std::nullopt;
  if (version && !facts::in_range(*version, {"0", "6.16.9"})) return std::nullopt;
  // Below 8 GiB it is a carve-out by default, which nobody counts on.
  if (*asked <= half || *asked > *pool.carve_out || *pool.carve_out < 8_GiB) return std::nullopt;
  Hypothesis cap;
  cap.confidence = 0.55;
  cap.title = fmt::format("{} was refused beside a carve-out of {}: ROCm takes the RAM's half",
                          to_string(*asked), to_string(*pool.carve_out));
  cap.reasons.push_back(
      fmt::format("The request would fit into the carve-out, so it was not taken from there. The "
                  "RAM without it "
                  "is {}, of which TTM's default allows half, {}.",
                  to_string(*pool.ram), to_string(half)));
  cap.evidence = {show(subject, *failed)};
  cap.fix = steps_to_raise_pool(subject, pool);
  cap.fix.push_back(
      sentence("Make the carve-out in the BIOS small, so that the RAM is large. From "
               "Linux 6.16.9 on, ROCm takes a large carve-out too."));
  cap.alternatives = {{"kernel-too-old", 0.35, "uname -r   (below 6.16.9)"},
                      {"job-too-big", 0.1, "headroom plan --model MODEL --gpu auto"}};
  return cap;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const auto pool = apu_pool(subject);
  if (!pool || ran_well(subject.log)) return std::nullopt;
  const bool knows_limit = pool->limit && !pool->limit_is(pool->carve_out);
  if (!knows_limit) {
    if (auto beside = find_beside_carve_out(subject, *pool)) return beside;
  }
  if (!pool->limit) return std::nullopt;
  Hypothesis cap;
  cap.confidence = sure_of(subject, *pool);
  if (cap.confidence <= 0) return std::nullopt;
  cap.title = fmt::format("{} gets {}: TTM's default limit is half of the RAM", apu_name(subject),
                          pool->limit_is_half_of_ram() ? to_string(*pool->limit) : "about half");
  if (pool->ram) {
    cap.reasons.push_back(
        fmt::format("The limit is {} and the RAM is {}. Half of the RAM is the kernel's default.",
                    to_string(*pool->limit), to_string(*pool->ram)));
  }
  if (pool->gttsize) {
    cap.reasons.push_back(
        fmt::format("amdgpu.gttsize is {}, but that is GTT's size for graphics. hipMalloc gets "
                    "TTM's pages_limit.",
                    to_string(*pool->gttsize)));
  }
  if (pool->pages_limit) {
    cap.reasons.push_back(
        fmt::format("pages_limit={} is set but not in force. It takes effect when the driver "
                    "loads, and the driver reads it from the initramfs.",
                    pool->pages_limit->value / 4096));
  }
  show_pool(subject, *pool, cap);
  cap.fix = steps_to_raise_pool(subject, *pool);
  cap.alternatives = {
      {"gttsize-cap", 0.1, "grep -r -e pages_limit -e gttsize /proc/cmdline /etc/modprobe.d"},
      {"job-too-big", 0.05, "headroom plan --model MODEL --gpu auto"}};
  if (pool->carve_out_is_idle()) {
    cap.alternatives.push_back({"kernel-too-old", 0.45, "uname -r   (below 6.16.9)"});
  }
  return cap;
}

}  // namespace

constinit const CauseRule ttm_cap_cause = {
    .id = "ttm-cap",
    .meaning = "TTM's default limit gives an APU's GPU only half of the RAM.",
    .why =
        "On an APU hipMalloc takes system memory, up to the page limit that TTM, the kernel's "
        "memory manager, had when the driver loaded. gttsize raises only what graphics may use.",
    .fix = "Set ttm.pages_limit for the next boot, and keep a reserve for the system.",
    .explains =
        "job-too-big vram-held-by-other free-memory-misreported uma-carveout-small app-bug "
        "framework-bug crash-loop",
    .find = find,
};

}  // namespace headroom::findings
