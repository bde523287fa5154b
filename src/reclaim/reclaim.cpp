// SPDX-License-Identifier: Apache-2.0
#include "reclaim/reclaim.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/reclaim/names.h"
#include "reclaim/session.h"

namespace headroom::reclaim {
namespace {

using plan::ReclaimEnd;
using plan::Rung;

Taken take_name(Session& session, plan::RungDone& done) {
  for (const plan::Held& held : session.now().holders) {
    done.did.push_back(fmt::format("{} holds {}", plan::name_of(held), to_string(held.bytes)));
  }
  session.hold_targets(done);
  return Taken::done;
}

Taken take(Rung rung, Session& session, plan::RungDone& done) {
  switch (rung) {
    case Rung::name:
      return take_name(session, done);
    case Rung::ask:
      return take_ask(session, done);
    case Rung::insist:
      return take_insist(session, done);
    case Rung::wait_kfd:
      return take_wait_kfd(session, done);
    case Rung::empty_pool:
      return take_empty_pool(session, done);
    case Rung::stop_service:
      return take_stop_service(session, done);
    case Rung::unbind_bind:
      return take_unbind_bind(session, done);
    case Rung::module_reload:
      return take_module_reload(session, done);
    case Rung::driver_reset:
      return take_driver_reset(session, done);
    case Rung::reboot:
      break;
  }
  done.skipped = "headroom never reboots a machine; do it yourself";
  return Taken::done;
}

// Why this rung is not taken now.
std::string why_not(const plan::RungPlan& rung, const Session& session) {
  if (!rung.cannot.empty()) return rung.cannot;
  // Signals are tried one by one: some of the chosen may be this user's own.
  const bool each_by_itself = rung.rung == Rung::ask || rung.rung == Rung::insist;
  if (rung.needs_root && !each_by_itself) return "it needs root: sudo headroom reclaim";
  return plan::innocents_of(session.plan(), rung.rung, session.now());
}

ReclaimEnd break_off(plan::ReclaimOutcome& outcome, std::string why) {
  outcome.why = std::move(why);
  return ReclaimEnd::broken_off;
}

// A service starts its process again a moment after its end (systemd: RestartSec, 100 ms).
constexpr std::uint64_t restart_watch_ms = 3'000;

bool ended_one_of_a_service(Session& session, Rung rung) {
  if (rung != Rung::ask && rung != Rung::insist) return false;
  const auto& targets = session.targets();
  return std::any_of(targets.begin(), targets.end(), [](const HeldTarget& one) {
    const plan::Held& held = one.target->held;
    return one.ended && (held.unit.ends_with(".service") || !held.container.empty());
  });
}

// One rung; what it came to, if that ends the whole.
std::optional<ReclaimEnd> climb(const plan::RungPlan& rung, Session& session, std::uint64_t start,
                                plan::ReclaimOutcome& outcome) {
  const std::uint64_t started_ms = session.kernel().now_ms() - start;
  if (const Status status = session.refresh(); !status) {
    return break_off(outcome, status.error().message);
  }
  // It may have come back by itself meanwhile.
  if (session.is_enough()) return ReclaimEnd::enough;
  plan::RungDone& done = outcome.timeline.emplace_back();
  done.rung = rung.rung;
  done.started_ms = started_ms;
  done.ended_ms = started_ms;
  const Bytes before = session.now().used;
  done.skipped = why_not(rung, session);
  if (!done.skipped.empty()) return std::nullopt;
  const Taken taken = take(rung.rung, session, done);
  done.ended_ms = session.kernel().now_ms() - start;
  if (taken == Taken::no_gpu) {
    return break_off(outcome,
                     done.failed.empty() ? "the memory could no longer be measured" : done.failed);
  }
  if (taken == Taken::hung) return break_off(outcome, done.failed);
  if (const Status status = session.refresh(); !status) {
    return break_off(outcome, status.error().message);
  }
  if (session.is_enough() && ended_one_of_a_service(session, rung.rung)) {
    session.kernel().wait_ms(restart_watch_ms);
    if (const Status status = session.refresh(); !status) {
      return break_off(outcome, status.error().message);
    }
    if (!session.is_enough()) done.did.emplace_back("the processes that ended have been restarted");
    done.ended_ms = session.kernel().now_ms() - start;
  }
  done.freed = saturating_sub(before, session.now().used);
  return session.is_enough() ? std::optional(ReclaimEnd::enough) : std::nullopt;
}

}  // namespace

plan::ReclaimOutcome carry_out(const plan::ReclaimPlan& plan, Kernel& kernel,
                               const OnRung& on_rung) {
  plan::ReclaimOutcome outcome;
  if (plan.for_host) {
    outcome.end = ReclaimEnd::for_host;
    return outcome;
  }
  Session session(plan, kernel);
  const std::uint64_t start = kernel.now_ms();
  if (const Status status = session.refresh(); !status) {
    outcome.end = break_off(outcome, status.error().message);
    return outcome;
  }
  outcome.before = session.now();
  if (session.is_enough()) {
    outcome.end = ReclaimEnd::nothing_to_do;
    outcome.after = session.now();
    return outcome;
  }
  for (const plan::RungPlan& rung : plan.rungs) {
    if (!rung.within) break;
    const std::size_t before = outcome.timeline.size();
    const auto end = climb(rung, session, start, outcome);
    if (on_rung && outcome.timeline.size() > before) on_rung(outcome.timeline.back());
    if (!end) continue;
    outcome.end = *end;
    if (*end != ReclaimEnd::broken_off) outcome.after = session.now();
    return outcome;
  }
  outcome.after = session.now();
  return outcome;
}

}  // namespace headroom::reclaim
