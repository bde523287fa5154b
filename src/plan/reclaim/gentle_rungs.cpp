// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/reclaim/rungs.h"
#include "plan/reclaim/session_of.h"

namespace headroom::plan {
namespace {

std::string name_of(std::uint64_t pid, const std::string& command, const std::string& user) {
  return fmt::format("{} (PID {}{})", command.empty() ? "?" : command, pid,
                     user.empty() ? "" : ", user " + user);
}

std::string names_of(const std::vector<Target>& targets) {
  std::vector<std::string> names;
  for (const Target& target : targets) names.push_back(plan::name_of(target.held));
  return names.empty() ? "nobody" : join(names, ", ");
}

RungPlan start(Rung rung, std::string what) {
  RungPlan plan;
  plan.rung = rung;
  plan.what = std::move(what);
  plan.dies = "nobody";
  return plan;
}

RungPlan describe_name() {
  RungPlan rung = start(Rung::name, "Show who holds the memory.");
  rung.commands = {"headroom check"};
  return rung;
}

RungPlan describe_signal(const ReclaimSubject& subject, const ReclaimPlan& plan, Rung kind) {
  const bool ask = kind == Rung::ask;
  RungPlan rung =
      start(kind, ask ? fmt::format("Ask the chosen processes to end (SIGTERM), the largest first, "
                                    "and no more than necessary. Wait up to {} s.",
                                    plan.options.grace_s)
                      : fmt::format("Kill the processes that were asked and are still running "
                                    "(SIGKILL). Their unsaved work is lost. Wait up to {} s.",
                                    plan.options.grace_s));
  std::vector<std::uint64_t> pids;
  for (const Target& target : plan.targets) {
    pids.push_back(target.held.pid);
    rung.commands.push_back(fmt::format("{}kill{} {}", target.needs_root ? "sudo " : "",
                                        ask ? "" : " -KILL", target.held.pid));
    rung.needs_root = rung.needs_root || target.needs_root;
  }
  rung.dies = names_of(plan.targets);
  rung.dies_too = find_dying_too(subject, plan, pids);
  if (plan.targets.empty()) {
    rung.cannot = plan.spared.empty() ? "no running process holds memory of this GPU"
                                      : "no holder was chosen";
  } else if (!ask && std::all_of(plan.targets.begin(), plan.targets.end(),
                                 [](const Target& one) { return one.state == 'D'; })) {
    rung.cannot = "they are stuck in the kernel (state D), where signals do not reach them";
  }
  return rung;
}

RungPlan describe_wait(const ReclaimPlan& plan) {
  RungPlan rung = start(Rung::wait_kfd,
                        "Wait up to 30 s until the compute driver has released the processes that "
                        "ended. It frees their memory in the background.");
  for (const Held& dead : plan.dead) {
    rung.commands.push_back(fmt::format("ls -d /sys/class/kfd/kfd/proc/{}", dead.pid));
  }
  if (rung.commands.empty()) rung.commands = {"ls /sys/class/kfd/kfd/proc"};
  return rung;
}

RungPlan describe_pool() {
  RungPlan rung =
      start(Rung::empty_pool,
            "Make the kernel give back the pages that TTM keeps for the next allocation. This also "
            "drops cached directory entries and inodes of the whole machine, so file lookups are "
            "slower for a moment. Nothing is lost. It frees system memory, never a card's own.");
  rung.commands = {"echo 2 | sudo tee /proc/sys/vm/drop_caches"};
  rung.needs_root = true;
  return rung;
}

RungPlan describe_services(const ReclaimSubject& subject, const ReclaimPlan& plan) {
  RungPlan rung = start(Rung::stop_service,
                        "Stop the units and containers that the holders belong to, and that would "
                        "restart them. They stay stopped until somebody starts them.");
  std::vector<std::string> names;
  std::vector<std::string> refusals;
  std::vector<std::uint64_t> pids;
  for (const Service& service : plan.services) {
    rung.commands.push_back(service.shown);
    rung.needs_root = rung.needs_root || service.needs_root;
    if (service.refused.empty()) {
      names.push_back("every process of " + service.name);
      pids.insert(pids.end(), service.pids.begin(), service.pids.end());
    } else {
      refusals.push_back(service.name + ": " + service.refused);
    }
  }
  if (!names.empty()) {
    rung.dies = join(names, ", ");
    rung.dies_too = find_dying_too(subject, plan, pids);
  } else if (refusals.empty()) {
    rung.cannot = "none of the chosen holders belongs to a unit or container";
  } else {
    rung.cannot = join(refusals, "; ");
  }
  return rung;
}

}  // namespace

std::string name_of(const Held& held) {
  return name_of(held.pid, held.command, held.user);
}
std::string name_of(const Client& client) {
  return name_of(client.pid, client.command, client.user);
}

void describe_gentle_rungs(const ReclaimSubject& subject, ReclaimPlan& plan) {
  plan.rungs.push_back(describe_name());
  plan.rungs.push_back(describe_signal(subject, plan, Rung::ask));
  plan.rungs.push_back(describe_signal(subject, plan, Rung::insist));
  plan.rungs.push_back(describe_wait(plan));
  plan.rungs.push_back(describe_pool());
  plan.rungs.push_back(describe_services(subject, plan));
  for (RungPlan& rung : plan.rungs) {
    if (subject.caller.root) rung.needs_root = false;
  }
}

}  // namespace headroom::plan
