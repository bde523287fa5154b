// SPDX-License-Identifier: Apache-2.0
// gttsize-cap: an option (ttm.pages_limit, amdgpu.gttsize) limits an APU's memory, and the job gets
// just that amount; or gttsize led hipMalloc away from a larger carve-out.
#include <fmt/format.h>

#include "findings/advice.h"
#include "findings/causes/amounts.h"
#include "findings/causes/apu_pool.h"
#include "findings/causes/causes.h"
#include "findings/causes/failed_allocation.h"
#include "findings/causes/recovery.h"
#include "findings/causes/told_topics.h"

namespace headroom::findings {
namespace {

// Whether the limit leaves the system only a small part of the RAM.
bool is_generous(const ApuPool& pool, Bytes limit) {
  return pool.ram && part_of(limit, *pool.ram) > 0.8;
}

struct Setting {
  std::string knob;
  Bytes amount;
  double sure = 0;
};

std::optional<Setting> binding_setting(const ApuPool& pool) {
  std::optional<Setting> smallest;
  for (const auto& [knob, amount] : {std::pair("ttm.pages_limit", pool.pages_limit),
                                     std::pair("amdgpu.gttsize", pool.gttsize)}) {
    if (amount && (!smallest || *amount < smallest->amount)) smallest = Setting{knob, *amount};
  }
  if (!smallest) return std::nullopt;
  const bool shows = pool.limit_is(smallest->amount);
  const bool too_small = pool.asked && *pool.asked > smallest->amount;
  if (is_generous(pool, smallest->amount)) {
    // The RAM would have room for what the job asked for.
    const bool fits = pool.asked && pool.ram && part_of(*pool.asked, *pool.ram) < 0.92;
    if (!shows || !too_small || !fits) return std::nullopt;
    smallest->sure = 0.75;
    return smallest;
  }
  if (shows) smallest->sure = pool.failure != nullptr ? 0.9 : 0.7;
  // gttsize alone does not limit ROCm's pool.
  else if (too_small && !pool.limit)
    smallest->sure = pool.pages_limit ? 0.75 : 0.5;
  if (smallest->sure <= 0) return std::nullopt;
  return smallest;
}

std::optional<Hypothesis> find_switched(const LogSubject& subject, const ApuPool& pool) {
  const bool switched = pool.gttsize && pool.carve_out_is_idle() && *pool.gttsize > *pool.carve_out;
  if (!switched) return std::nullopt;
  Hypothesis cap;
  cap.confidence = 0.7;
  cap.title = fmt::format("amdgpu.gttsize makes {} use {} of RAM instead of its {} carve-out",
                          apu_name(subject), to_string(*pool.limit), to_string(*pool.carve_out));
  cap.reasons.emplace_back(
      "hipMalloc takes system memory if GTT is larger than the carve-out. gttsize made it larger, "
      "but hipMalloc then gets TTM's limit, which is smaller.");
  show_pool(subject, pool, cap);
  cap.fix = steps_to_drop(subject.scene.machine, "amdgpu", "gttsize");
  cap.alternatives = {{"kernel-too-old", 0.3, "uname -r   (below 6.16.9)"}, {"ttm-cap", 0.3, ""}};
  return cap;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const auto pool = apu_pool(subject);
  if (!pool || ran_well(subject.log)) return std::nullopt;
  if (auto switched = find_switched(subject, *pool)) return switched;
  const auto setting = binding_setting(*pool);
  if (!setting) return std::nullopt;
  // A limit that somebody set and that nothing ran into does what it is there for.
  const bool failed = pool->asked || standing_failure(subject.log) != nullptr;
  if (!failed && !tells_of_trouble(subject.log)) return std::nullopt;
  Hypothesis cap;
  cap.confidence = setting->sure;
  cap.title = fmt::format("{} can get {}, because {} was set to that", apu_name(subject),
                          to_string(setting->amount), setting->knob);
  cap.reasons.push_back(fmt::format(
      "{} allows {}{}. Nothing in the job can get more.", setting->knob, to_string(setting->amount),
      pool->asked ? fmt::format(", and the job asks for {}", to_string(*pool->asked))
                  : std::string()));
  show_pool(subject, *pool, cap);
  cap.fix = steps_to_raise_pool(subject, *pool);
  if (pool->gttsize) {
    insert_before_reboot(
        sentence("Remove amdgpu.gttsize from modprobe.d and the kernel command line. It is "
                 "deprecated, and without it GTT follows TTM's limit."),
        cap.fix);
  }
  cap.alternatives = {{"ttm-cap", 0.15, "grep -r pages_limit /proc/cmdline /etc/modprobe.d"},
                      {"uma-carveout-small", 0.1, ""}};
  return cap;
}

}  // namespace

constinit const CauseRule gttsize_cap_cause = {
    .id = "gttsize-cap",
    .meaning = "Somebody set amdgpu.gttsize or pages_limit, and that is what limits the GPU now.",
    .why =
        "These options stay in modprobe.d or on the kernel command line for a long time. A number "
        "that was once an increase limits a machine with more RAM.",
    .fix = "Set only ttm.pages_limit, to what the RAM allows. Remove gttsize.",
    .explains =
        "job-too-big ttm-cap uma-carveout-small vram-held-by-other free-memory-misreported "
        "app-bug framework-bug crash-loop",
    .find = find,
};

}  // namespace headroom::findings
