// SPDX-License-Identifier: Apache-2.0
#include "plan/reclaim/reclaim_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "facts/desktop.h"
#include "findings/memory_use.h"
#include "plan/reclaim/choice.h"
#include "plan/reclaim/host_plan.h"
#include "plan/reclaim/protected.h"
#include "plan/reclaim/rungs.h"
#include "plan/reclaim/services.h"

namespace headroom::plan {
namespace {

// Below this, what nobody holds is the driver's own or the moment's.
constexpr Bytes noise = 256_MiB;

bool is_same(const Held& a, const Held& b) {
  return a.pid == b.pid && a.start_ticks == b.start_ticks;
}

bool is_target(const ReclaimPlan& plan, std::uint64_t pid,
               const std::optional<std::uint64_t>& start_ticks) {
  return std::any_of(plan.targets.begin(), plan.targets.end(), [&](const Target& target) {
    return target.held.pid == pid && target.held.start_ticks == start_ticks;
  });
}

bool is_of_service(const ReclaimPlan& plan, const Held& held) {
  return std::any_of(plan.services.begin(), plan.services.end(), [&](const Service& service) {
    return service.container.empty() ? held.unit == service.unit
                                     : held.container == service.container;
  });
}

// What must have let go before nothing is left to do.
bool counts(const ReclaimPlan& plan, const Held& held) {
  if (held.whereabouts == facts::Whereabouts::gone) return true;
  // Seen by a user from whom processes are hidden, one that has just ended looks like one of those.
  if (held.whereabouts == facts::Whereabouts::outside) {
    return std::any_of(plan.targets.begin(), plan.targets.end(),
                       [&](const Target& target) { return target.held.pid == held.pid; });
  }
  if (is_target(plan, held.pid, held.start_ticks)) return true;
  const bool spared = std::any_of(plan.spared.begin(), plan.spared.end(),
                                  [&](const Spared& one) { return is_same(one.held, held); });
  return !spared && is_of_service(plan, held);
}

void add_notes(const ReclaimSubject& subject, ReclaimPlan& plan) {
  if (plan.now.dead().value > 0 || (plan.now.unowned && *plan.now.unowned >= noise)) {
    plan.notes.emplace_back(
        "A dead process's memory is not fragmentation. The driver still counts it as in use, and "
        "no allocator setting gets it back. Another process has a handle to it open, or its "
        "release is stuck in the kernel.");
  }
  if (!plan.now.complete && !plan.for_host && !subject.caller.root) {
    plan.notes.emplace_back("headroom could not look into every process. Root sees all of them.");
  }
}

}  // namespace

Result<ReclaimPlan> plan_reclaim(const ReclaimSubject& subject, const std::string& pci) {
  ReclaimPlan plan;
  plan.pci = pci;
  plan.options = subject.options;
  plan.caller = subject.caller;
  HEADROOM_TRY(plan.now, measure(subject.facts, subject.occupancy, pci));
  if (subject.options.free && *subject.options.free > plan.now.capacity) {
    return Error{Errc::invalid,
                 fmt::format("--free {}: expected at most what jobs can have on {}, which is {}",
                             to_string(*subject.options.free), pci, to_string(plan.now.capacity)),
                 "headroom check"};
  }
  const auto gpu = std::find_if(subject.facts.gpus.begin(), subject.facts.gpus.end(),
                                [&](const facts::Gpu& one) { return one.pci == pci; });
  plan.title = findings::title_of(*gpu);
  // Of a GPU that may be part of the processor, the worse is assumed.
  plan.integrated = !gpu->integrated || *gpu->integrated;
  if (const auto* screens = subject.occupancy.screens_of(pci)) plan.card = screens->card;
  if (subject.facts.machine.in_container()) {
    plan.for_host = true;
    plan.host_steps = plan_for_host(subject, *gpu, plan.now);
    add_notes(subject, plan);
    return plan;
  }
  HEADROOM_CHECK(choose_targets(subject, plan));
  find_services(subject, plan);
  plan.desktop = find_desktop(subject, plan.now.clients, pci);
  describe_gentle_rungs(subject, plan);
  describe_harsh_rungs(subject, *gpu, plan);
  for (RungPlan& rung : plan.rungs) rung.within = rung.rung <= subject.options.up_to;
  add_notes(subject, plan);
  return plan;
}

bool is_enough(const ReclaimPlan& plan, const Measurement& now) {
  if (plan.options.free) return now.free() >= *plan.options.free;
  const bool held = std::any_of(now.holders.begin(), now.holders.end(),
                                [&](const Held& one) { return counts(plan, one); });
  return !held && (!now.unowned || *now.unowned < noise);
}

std::optional<Bytes> shortage(const ReclaimPlan& plan, const Measurement& now) {
  if (!plan.options.free) return std::nullopt;
  return saturating_sub(*plan.options.free, now.free());
}

std::string innocents_of(const ReclaimPlan& plan, Rung rung, const Measurement& now) {
  if (rung < Rung::unbind_bind) return "";
  if (!now.complete) return "not every process can be seen, and one of them may use the GPU";
  const bool only_empty = rung == Rung::unbind_bind || rung == Rung::module_reload;
  std::vector<Client> clients = now.clients;
  if (rung == Rung::module_reload) {
    clients.insert(clients.end(), now.elsewhere.begin(), now.elsewhere.end());
  }
  for (const Client& client : clients) {
    if (only_empty) return name_of(client) + " has the GPU open";
    const bool desktop = facts::is_desktop(client.command) && plan.options.include_desktop;
    if (desktop || is_target(plan, client.pid, client.start_ticks)) continue;
    return name_of(client) + " uses the GPU as well and was not chosen";
  }
  return "";
}

std::string_view to_string(Contents contents) {
  switch (contents) {
    case Contents::untouched:
      return "untouched";
    case Contents::kept:
      return "kept";
    case Contents::lost:
      return "lost";
    case Contents::unknown:
      break;
  }
  return "unknown";
}

}  // namespace headroom::plan
