// SPDX-License-Identifier: Apache-2.0
// Rungs that touch the driver. An APU's GPU is part of the processor's chip: there they are told,
// never taken.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "facts/desktop.h"
#include "plan/reclaim/protected.h"
#include "plan/reclaim/rungs.h"

namespace headroom::plan {
namespace {

constexpr std::string_view apu_rule =
    "on an APU the GPU is part of the processor: the screen goes dark, and the machine may hang";

std::string everybody(const ReclaimPlan& plan) {
  std::vector<std::string> names;
  for (const Client& client : plan.now.clients) names.push_back(name_of(client));
  const std::string whose = "every client of this GPU";
  std::string who = names.empty() ? whose + " (none now)" : whose + ": " + join(names, ", ");
  if (!plan.desktop.empty()) who += "; the desktop with all its programs";
  return who;
}

// What a rung takes the driver away from.
struct Reach {
  std::string_view gpus;             // "this GPU".
  std::vector<std::string> desktop;  // What shows that a desktop or console is on one of them.
};

std::string desktop_text(const Reach& reach) {
  if (reach.desktop.empty()) return fmt::format("No desktop or console runs on {}.", reach.gpus);
  return fmt::format("The desktop or console runs on {} and would go down: {}.", reach.gpus,
                     join(reach.desktop, ", "));
}

// Every AMD GPU, because they share the driver.
Reach reach_of_driver(const ReclaimSubject& subject, const ReclaimPlan& plan) {
  Reach reach{"this GPU", plan.desktop};
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    if (gpu.pci == plan.pci) continue;
    for (const std::string& sign :
         find_desktop(subject, clients_of(subject.occupancy, gpu), gpu.pci)) {
      reach.desktop.push_back(fmt::format("{} ({})", sign, gpu.pci));
    }
  }
  if (plan.desktop.empty())
    reach.gpus = reach.desktop.empty() ? "any GPU of this driver" : "another GPU of this driver";
  return reach;
}

// Those who have one of the GPUs open and would keep the driver from being taken away.
std::string held_open_by(const ReclaimPlan& plan, const std::vector<Client>& clients) {
  std::vector<std::string> names;
  for (const Client& client : clients) {
    const bool ends =
        std::any_of(plan.targets.begin(), plan.targets.end(),
                    [&](const Target& target) { return target.held.pid == client.pid; });
    if (!ends) names.push_back(name_of(client));
  }
  return names.empty() ? "" : ", as now " + join(names, ", ");
}

RungPlan start(Rung rung, std::string what, const ReclaimSubject& subject, const Reach& reach) {
  RungPlan made;
  made.rung = rung;
  made.what = std::move(what);
  made.needs_root = !subject.caller.root;
  made.desktop = desktop_text(reach);
  return made;
}

std::string desktop_rule(const ReclaimPlan& plan, const Reach& reach) {
  if (plan.options.include_desktop || reach.desktop.empty()) return "";
  const std::string signs = plan.desktop.empty() ? ": " + join(reach.desktop, ", ") : "";
  return fmt::format("the desktop or console runs on {}{}; --include-desktop allows it", reach.gpus,
                     signs);
}

RungPlan describe_unbind(const ReclaimSubject& subject, const ReclaimPlan& plan) {
  const Reach reach{"this GPU", plan.desktop};
  RungPlan rung = start(Rung::unbind_bind,
                        "Unbind the driver from this GPU and bind it again. This is done only "
                        "while nobody has the GPU open, because otherwise the kernel may crash.",
                        subject, reach);
  rung.commands = {fmt::format("echo {} | sudo tee /sys/bus/pci/drivers/amdgpu/unbind", plan.pci),
                   fmt::format("echo {} | sudo tee /sys/bus/pci/drivers/amdgpu/bind", plan.pci)};
  rung.dies = "nobody: it is not done while somebody has the GPU open" +
              held_open_by(plan, plan.now.clients);
  rung.contents = Contents::lost;
  rung.cannot = plan.integrated ? std::string(apu_rule) : desktop_rule(plan, reach);
  return rung;
}

RungPlan describe_reload(const ReclaimSubject& subject, const ReclaimPlan& plan) {
  const Reach reach = reach_of_driver(subject, plan);
  RungPlan rung = start(Rung::module_reload,
                        "Unload the driver of all AMD GPUs and load it again. The kernel refuses "
                        "this while anything, including a console, uses one of them.",
                        subject, reach);
  rung.commands = {"sudo modprobe -r amdgpu", "sudo modprobe amdgpu"};
  std::vector<Client> everybody = plan.now.clients;
  everybody.insert(everybody.end(), plan.now.elsewhere.begin(), plan.now.elsewhere.end());
  rung.dies = "nobody: it is not done while somebody has one of the GPUs open" +
              held_open_by(plan, everybody);
  rung.contents = Contents::lost;
  const bool any_apu =
      std::any_of(subject.facts.gpus.begin(), subject.facts.gpus.end(),
                  [](const facts::Gpu& gpu) { return gpu.integrated && *gpu.integrated; });
  if (plan.integrated) {
    rung.cannot = apu_rule;
  } else if (any_apu) {
    rung.cannot = "the driver also drives this machine's APU, whose screen would go dark";
  } else {
    rung.cannot = desktop_rule(plan, reach);
  }
  return rung;
}

std::string_view method_text(knowledge::Reset reset) {
  switch (reset) {
    case knowledge::Reset::mode1:
      return "MODE1: the whole chip";
    case knowledge::Reset::mode2:
      return "MODE2: the engines only";
    case knowledge::Reset::baco_or_mode1:
      return "BACO, power off and on, if the firmware can; otherwise MODE1, the whole chip";
    case knowledge::Reset::baco_or_legacy:
      break;
  }
  return "BACO, power off and on, if the board can; otherwise by PCI configuration";
}

std::optional<knowledge::Reset> reset_of(const ReclaimSubject& subject, const facts::Gpu& gpu) {
  const auto* target = gpu.gfx ? subject.tables.target(*gpu.gfx) : nullptr;
  if (target == nullptr) return std::nullopt;
  const bool own = gpu.integrated && *gpu.integrated && target->reset_integrated;
  return own ? target->reset_integrated : target->reset;
}

// GPUs that XGMI joins are reset together.
std::vector<std::string> joined_by_xgmi(const facts::Facts& facts, const std::string& pci) {
  std::vector<std::string> others;
  for (const facts::PeerLink& link : facts.interconnect.peers) {
    if (!link.kind || *link.kind != facts::PeerKind::xgmi) continue;
    if (link.from == pci) others.push_back(link.to);
    if (link.to == pci) others.push_back(link.from);
  }
  return others;
}

std::string why_no_reset(const ReclaimSubject& subject, const ReclaimPlan& plan) {
  if (plan.integrated) return std::string(apu_rule);
  const auto others = joined_by_xgmi(subject.facts, plan.pci);
  if (!others.empty()) {
    return "XGMI joins it with " + join(others, ", ") + ", which would be reset as well";
  }
  const facts::Screens* screens = subject.occupancy.screens_of(plan.pci);
  if (screens == nullptr || !screens->card) return "the driver shows no card for it";
  const facts::Fact<bool>& can = screens->can_recover;
  if (can && !*can) {
    return "the driver does not offer it here: the host resets a virtual GPU (SR-IOV guest)";
  }
  if (!can && can.missing().why == facts::Why::not_present) {
    return "debugfs is not mounted: sudo mount -t debugfs none /sys/kernel/debug";
  }
  return desktop_rule(plan, {"this GPU", plan.desktop});
}

RungPlan describe_reset(const ReclaimSubject& subject, const facts::Gpu& gpu,
                        const ReclaimPlan& plan) {
  const auto reset = reset_of(subject, gpu);
  RungPlan rung = start(
      Rung::driver_reset,
      fmt::format("Make the driver reset the GPU{}. The reset may hang. Then only a reboot helps.",
                  reset ? fmt::format(" ({})", method_text(*reset)) : ""),
      subject, {"this GPU", plan.desktop});
  rung.commands = {fmt::format("sudo cat /sys/kernel/debug/dri/{}/amdgpu_gpu_recover",
                               plan.card ? std::to_string(*plan.card) : "N")};
  rung.dies = everybody(plan);
  rung.contents = !reset                              ? Contents::unknown
                  : *reset == knowledge::Reset::mode2 ? Contents::kept
                                                      : Contents::lost;
  rung.cannot = why_no_reset(subject, plan);
  return rung;
}

RungPlan describe_reboot(const ReclaimSubject& subject, const ReclaimPlan& plan) {
  RungPlan rung = start(Rung::reboot, "Reboot. This is the only way that always frees the memory.",
                        subject, {"this GPU", plan.desktop});
  rung.commands = {"sudo systemctl reboot"};
  rung.dies = "every process of this machine";
  rung.desktop = "";
  rung.contents = Contents::lost;
  rung.cannot = "headroom never reboots a machine; do it yourself";
  return rung;
}

}  // namespace

std::vector<std::string> find_desktop(const ReclaimSubject& subject,
                                      const std::vector<Client>& clients, const std::string& pci) {
  std::vector<std::string> signs;
  for (const Client& client : clients) {
    if (facts::is_desktop(client.command)) signs.push_back(name_of(client) + " has it open");
  }
  const facts::Screens* screens = subject.occupancy.screens_of(pci);
  if (screens == nullptr) return signs;
  for (const std::string& connector : screens->connected) {
    signs.push_back("a screen on " + connector);
  }
  if (screens->console) signs.emplace_back("the text console");
  return signs;
}

void describe_harsh_rungs(const ReclaimSubject& subject, const facts::Gpu& gpu, ReclaimPlan& plan) {
  plan.rungs.push_back(describe_unbind(subject, plan));
  plan.rungs.push_back(describe_reload(subject, plan));
  plan.rungs.push_back(describe_reset(subject, gpu, plan));
  plan.rungs.push_back(describe_reboot(subject, plan));
  const std::string device = "/sys/bus/pci/devices/" + plan.pci;
  const std::string rule = plan.integrated
                               ? "never on an APU, because the GPU is a part of the processor"
                               : "never while the driver is bound: the driver does not know about "
                                 "it, and many cards do not come back";
  plan.refused = {{"PCI function reset", fmt::format("echo 1 > {}/reset", device), rule},
                  {"PCI remove and rescan",
                   fmt::format("echo 1 > {}/remove; echo 1 > /sys/bus/pci/rescan", device), rule}};
}

}  // namespace headroom::plan
