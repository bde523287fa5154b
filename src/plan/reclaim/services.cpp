// SPDX-License-Identifier: Apache-2.0
#include "plan/reclaim/services.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shell_quote.h"
#include "base/text.h"
#include "plan/reclaim/protected.h"

namespace headroom::plan {
namespace {

using Words = std::vector<std::string>;

Words in_session_of(std::uint64_t uid, Words words) {
  Words all{"env", fmt::format("XDG_RUNTIME_DIR=/run/user/{}", uid)};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

// --no-block: the unit's own time-out may be minutes, and whether it has stopped is seen by its
// processes.
void stop_unit(const Held& held, const facts::Occupant* occupant, const Caller& caller,
               Service& service) {
  service.name = held.unit;
  if (is_vital_unit(held.unit)) {
    service.refused = "the machine, or everybody's containers, depend on " + held.unit;
  }
  if (occupant == nullptr || !occupant->unit_of_user) {
    service.argv = {"systemctl", "stop", "--no-block", "--", held.unit};
    service.shown = "sudo systemctl stop " + shell_operand(held.unit);
    service.needs_root = true;
    return;
  }
  const std::uint64_t uid = *occupant->unit_of_user;
  service.shown = "systemctl --user stop " + shell_operand(held.unit);
  if (caller.root) {
    service.argv = {"systemctl", "--user", fmt::format("--machine={}@", uid), "stop", "--no-block",
                    "--",        held.unit};
  } else {
    service.argv =
        in_session_of(uid, {"systemctl", "--user", "stop", "--no-block", "--", held.unit});
  }
  if (!occupant->user.empty()) service.shown += "   (as " + occupant->user + ")";
}

void stop_container(const Held& held, const facts::Occupant* occupant, const Caller& caller,
                    Service& service) {
  service.name = (held.engine.empty() ? "container" : held.engine) + " " + held.container;
  if (held.engine == "docker") {
    service.argv = {"docker", "stop", "--time", "10", "--", held.container};
    service.shown = "sudo docker stop " + shell_operand(held.container);
    service.needs_root = occupant == nullptr || !occupant->unit_of_user;
    if (service.needs_root) return;
    service.shown =
        "docker stop " + shell_operand(held.container) + "   (as the user whose docker it is)";
    service.refused = "it belongs to a user's own docker";
    return;
  }
  if (held.engine == "podman") {
    const Words stop{"podman", "stop", "--time", "10", "--", held.container};
    // A container of a user's own engine is unknown to root's.
    const bool rootless = occupant != nullptr && occupant->unit_of_user;
    service.argv = stop;
    service.shown = "sudo podman stop " + shell_operand(held.container);
    service.needs_root = !rootless;
    if (!rootless) return;
    const std::uint64_t uid = *occupant->unit_of_user;
    service.shown = fmt::format("podman stop {}   (as the user with uid {})",
                                shell_operand(held.container), uid);
    service.argv = in_session_of(uid, stop);
    if (caller.root)
      service.refused = "it belongs to a user's own podman, which root's does not know";
    return;
  }
  service.needs_root = held.engine == "lxc";
  service.shown = held.engine == "lxc" ? "sudo lxc-stop " + shell_option("-n", held.container)
                  : held.engine == "kubernetes" ? "kubectl delete pod NAME   (" + held.job + ")"
                                                : "stop container " + held.container;
  service.refused = fmt::format("headroom stops containers of docker and podman only, not of {}",
                                held.engine.empty() ? "this engine" : held.engine);
}

bool belongs(const Held& held, const Service& service) {
  if (!service.container.empty()) return held.container == service.container;
  return held.container.empty() && held.unit == service.unit;
}

// Other holders in the same unit or container would die with it.
void look_for_innocents(const ReclaimPlan& plan, Service& service) {
  for (const Spared& spared : plan.spared) {
    if (!service.refused.empty() || !belongs(spared.held, service)) continue;
    service.refused = fmt::format("{} (PID {}) is in it as well and was not chosen: {}",
                                  spared.held.command, spared.held.pid, spared.choose);
  }
}

}  // namespace

void find_services(const ReclaimSubject& subject, ReclaimPlan& plan) {
  for (const Target& target : plan.targets) {
    const Held& held = target.held;
    const bool unit = held.unit.ends_with(".service");
    if (!unit && held.container.empty()) continue;
    Service service;
    service.container = held.container;
    service.unit = held.unit;
    const auto known = std::find_if(plan.services.begin(), plan.services.end(),
                                    [&](const Service& one) { return belongs(held, one); });
    if (known != plan.services.end()) {
      known->pids.push_back(held.pid);
      continue;
    }
    service.pids = {held.pid};
    const facts::Occupant* occupant = subject.occupancy.find(held.pid);
    // A container that a unit runs is started again by that unit.
    if (unit) {
      stop_unit(held, occupant, subject.caller, service);
    } else {
      stop_container(held, occupant, subject.caller, service);
    }
    if (unit && held.unit == subject.occupancy.own_unit)
      service.refused = "this command runs in it";
    look_for_innocents(plan, service);
    plan.services.push_back(std::move(service));
  }
}

}  // namespace headroom::plan
