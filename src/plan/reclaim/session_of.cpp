// SPDX-License-Identifier: Apache-2.0
#include "plan/reclaim/session_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "facts/desktop.h"
#include "plan/reclaim/names.h"

namespace headroom::plan {
namespace {

// Where a process runs, as far as it is known.
struct Place {
  std::optional<std::uint64_t> uid;
  std::optional<std::uint64_t> unit_of_user;
  std::string unit, container;

  bool is_login() const { return unit.starts_with("session-") && unit.ends_with(".scope"); }
  bool is_system_service() const { return unit.ends_with(".service") && !unit_of_user; }
};

Place place_of(const ReclaimSubject& subject, std::uint64_t pid) {
  Place place;
  const facts::Occupant* occupant = subject.occupancy.find(pid);
  if (occupant != nullptr) {
    place = {occupant->uid, occupant->unit_of_user, occupant->membership.unit,
             occupant->membership.container};
  }
  return place;
}

// A display manager and its X server run as root for the user in front of the screen, so root's
// number sets nothing apart.
bool is_outside(const Place& one, const Place& desktop) {
  if (!one.container.empty() || one.is_system_service()) return true;
  if (one.is_login() && desktop.is_login() && one.unit != desktop.unit) return true;
  const bool numbers = one.uid && desktop.uid && *one.uid != 0 && *desktop.uid != 0;
  return numbers && *one.uid != *desktop.uid;
}

// Everybody who holds memory of an AMD GPU or has one open, by PID.
std::map<std::uint64_t, Client> users_of_gpus(const ReclaimSubject& subject,
                                              const ReclaimPlan& plan) {
  std::map<std::uint64_t, Client> users;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    for (const facts::Holder& holder : gpu.holders) {
      const bool alive = holder.whereabouts == facts::Whereabouts::here;
      if (alive) users[holder.pid] = {holder.pid, {}, holder.command, holder.user};
    }
  }
  for (const auto* clients : {&plan.now.clients, &plan.now.elsewhere}) {
    for (const Client& client : *clients) users[client.pid] = client;
  }
  return users;
}

bool is_target(const ReclaimPlan& plan, std::uint64_t pid) {
  return std::any_of(plan.targets.begin(), plan.targets.end(),
                     [&](const Target& target) { return target.held.pid == pid; });
}

}  // namespace

bool is_desktop_target(const ReclaimPlan& plan, std::uint64_t pid) {
  return std::any_of(plan.targets.begin(), plan.targets.end(), [&](const Target& target) {
    return target.held.pid == pid && facts::is_desktop(target.held.command);
  });
}

std::string find_dying_too(const ReclaimSubject& subject, const ReclaimPlan& plan,
                           const std::vector<std::uint64_t>& pids) {
  std::vector<Place> desktops;
  for (const std::uint64_t pid : pids) {
    if (is_desktop_target(plan, pid)) desktops.push_back(place_of(subject, pid));
  }
  if (desktops.empty()) return "";
  std::vector<std::string> names;
  for (const auto& [pid, client] : users_of_gpus(subject, plan)) {
    const Place place = place_of(subject, pid);
    const bool outside = std::all_of(desktops.begin(), desktops.end(), [&](const Place& desktop) {
      return is_outside(place, desktop);
    });
    if (!outside && !is_target(plan, pid)) names.push_back(name_of(client));
  }
  const std::string all =
      "the whole session: every program that runs in this desktop, with what it has not saved";
  return names.empty()
             ? all
             : all + ". As far as is known, of those that use a GPU: " + join(names, ", ");
}

}  // namespace headroom::plan
