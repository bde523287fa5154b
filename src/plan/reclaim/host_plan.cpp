// SPDX-License-Identifier: Apache-2.0
#include "plan/reclaim/host_plan.h"

#include <fmt/format.h>

#include "base/text.h"

namespace headroom::plan {

std::vector<HostStep> plan_for_host(const ReclaimSubject& subject, const facts::Gpu& gpu,
                                    const Measurement& now) {
  std::vector<std::string> pids;
  for (const Held& held : now.holders) {
    if (held.whereabouts != facts::Whereabouts::here) pids.push_back(std::to_string(held.pid));
  }
  const std::string nodes = gpu.render_minor
                                ? fmt::format("/dev/kfd /dev/dri/renderD{}", *gpu.render_minor)
                                : "/dev/kfd /dev/dri/*";
  const auto& words = subject.caller.words;
  const std::string reclaim =
      "sudo " + (words.empty() ? "headroom reclaim --gpu " + gpu.pci : join(words, " "));
  std::vector<HostStep> steps;
  if (!pids.empty()) {
    steps.push_back({"See which processes they are. These are the host's PIDs.",
                     {fmt::format("ps -o pid,user,unit,lstart,args -p {}", join(pids, ","))}});
    steps.push_back(
        {"If nobody needs what they compute (what they have not saved is lost), end them. Where ps "
         "names a unit X.service: sudo systemctl stop X.service. Where it names docker-ID.scope: "
         "docker stop ID. Else headroom there asks them to end, waits and measures (without "
         "--apply it only shows what it would do):",
         {fmt::format("{} --pid {} --apply", reclaim, join(pids, " --pid "))}});
    steps.push_back(
        {"Or, where headroom is not installed there:", {"sudo kill " + join(pids, " ")}});
    steps.push_back(
        {"A process that ps does not show is dead. If the first command finds it all the same, the "
         "compute driver has not released its memory: wait half a minute, then type the second.",
         {fmt::format("ls -d /sys/class/kfd/kfd/proc/{}", pids.front()),
          reclaim + " --up-to wait-kfd --apply"}});
  } else {
    steps.push_back({"See who has the GPU open. The driver's list shows none of them here.",
                     {"sudo fuser -v " + nodes}});
    steps.push_back({"Let headroom name them there, and print the command for each.", {reclaim}});
  }
  steps.push_back({"If nothing helps, reboot the host.", {"sudo systemctl reboot"}});
  return steps;
}

}  // namespace headroom::plan
