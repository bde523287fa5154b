// SPDX-License-Identifier: Apache-2.0
// ttm-cap, and the findings that the same change cures: limits set too small (gttsize-cap), above
// the RAM (limit-above-ram), after the driver had loaded (limit-not-in-force), or in two places
// that contradict each other (gtt-pool-mismatch).
#include <fmt/format.h>

#include "plan/boot/next_boot.h"
#include "plan/diagnosed.h"
#include "plan/fixes/every_fix.h"
#include "plan/fixes/gpu_limit.h"

namespace headroom::plan {
namespace {

constexpr std::string_view takes = "--size SIZE --reserve SIZE --keep-gttsize --via WAY";

template <const Fix& fix>
bool applies(const FixSubject& subject) {
  return !subject.facts.machine.in_container() && is_trouble(subject.diagnosis, fix.id) &&
         fix.plan(subject).has_value();
}

// The limit as it is set for boot, or as it reads now; nothing where it is the kernel's own.
std::optional<Bytes> present_limit(const FixSubject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  const facts::MachineFacts next = at_next_boot({subject.boot, machine});
  const bool is_set = next.option(machine.ttm_module, "pages_limit") != nullptr ||
                      is_diagnosed(subject.diagnosis, limit_not_in_force_fix.id);
  return is_set ? machine.pages_limit.optional() : std::nullopt;
}

// What these cure has to be there; to choose another limit without, there is ttm-cap.
template <const Fix& fix>
Result<Change> cure(const FixSubject& subject, std::optional<Bytes> usual) {
  const bool here = subject.facts.machine.in_container() || find_apu(subject.facts) == nullptr ||
                    is_diagnosed(subject.diagnosis, fix.id);
  if (here) return plan_gpu_limit(subject, {fix.id, usual, false});
  return Error{Errc::invalid, fmt::format("{}: headroom check does not find it here", fix.id),
               "headroom fix ttm-cap --size SIZE   (to choose another limit)"};
}

Result<Change> raise(const FixSubject& subject) {
  return plan_gpu_limit(subject, {ttm_cap_fix.id, std::nullopt, true});
}

Result<Change> replace_setting(const FixSubject& subject) {
  return cure<gttsize_cap_fix>(subject, std::nullopt);
}

Result<Change> lower(const FixSubject& subject) {
  return cure<limit_above_ram_fix>(subject, std::nullopt);
}

Result<Change> keep_for_boot(const FixSubject& subject) {
  return cure<limit_not_in_force_fix>(subject, present_limit(subject));
}

Result<Change> make_alike(const FixSubject& subject) {
  return cure<gtt_pool_mismatch_fix>(subject, present_limit(subject));
}

}  // namespace

constinit const Fix ttm_cap_fix = {
    .id = "ttm-cap",
    .meaning = "Lets an APU's GPU use more than half of the RAM.",
    .takes = takes,
    .applies = applies<ttm_cap_fix>,
    .plan = raise,
};

constinit const Fix gttsize_cap_fix = {
    .id = "gttsize-cap",
    .meaning = "Replaces amdgpu.gttsize or a small page limit with a limit that matches the RAM.",
    .takes = takes,
    .applies = applies<gttsize_cap_fix>,
    .plan = replace_setting,
};

constinit const Fix limit_above_ram_fix = {
    .id = "limit-above-ram",
    .meaning = "Lowers an APU's limit to the RAM that is there.",
    .takes = takes,
    .applies = applies<limit_above_ram_fix>,
    .plan = lower,
};

constinit const Fix limit_not_in_force_fix = {
    .id = "limit-not-in-force",
    .meaning = "Makes the limit that was set in the running kernel permanent.",
    .takes = takes,
    .applies = applies<limit_not_in_force_fix>,
    .plan = keep_for_boot,
};

constinit const Fix gtt_pool_mismatch_fix = {
    .id = "gtt-pool-mismatch",
    .meaning = "Makes graphics (GTT) and ROCm's pool use the same limit.",
    .takes = takes,
    .applies = applies<gtt_pool_mismatch_fix>,
    .plan = make_alike,
};

}  // namespace headroom::plan
